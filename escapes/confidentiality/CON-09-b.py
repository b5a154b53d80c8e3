# id: CON-09-b
# title: opens a file for reading and again for writing through its descriptor
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Whoever may read a file has a descriptor of it. Its link in procfs would open the same file once
more, with rights of its own. Inside, the files are those of the library."""

import os

held = []
for path in (os.path.join(context["folder"], "target.txt"), os.__file__, "/etc/ld.so.cache"):
    for flags in (os.O_RDONLY, os.O_PATH):
        try:
            held.append(os.open(path, flags))
        except OSError:
            pass
for fd in held:
    for form in ("/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d"):
        for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_APPEND):
            try:
                os.open(form % fd, flags)
                result = context["flag"]
            except OSError:
                pass
