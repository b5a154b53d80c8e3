# id: CON-07-a
# title: reaches the host's root through /proc/self
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The links of procfs lead to objects and not to names, and so past a root that was changed by
name only."""

import os
import threading

down = context["secret_file"]
up = "/.." * 64
found = []
for task in ("self", "thread-self", str(os.getpid()),
             "self/task/%d" % threading.get_native_id()):
    for link in ("root", "cwd", "cwd" + up, "root" + up, "exe/.." + up):
        for way in (lambda path: open(path).read(),
                    lambda path: open(os.path.realpath(path)).read(),
                    lambda path: os.read(os.open(path, os.O_RDWR | os.O_NONBLOCK), 99).decode()):
            try:
                found.append(way("/proc/" + task + "/" + link + down))
            except OSError:
                pass
result = found
