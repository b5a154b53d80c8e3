# id: INT-07-b
# title: makes hard links to files of the host
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: link linkat
# control: bare
"""A hard link is the file itself: a change of owner or mode in the jar's directory would change it
outside, and no check for symbolic links would notice."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
here = -100
sources = [os.path.join(context["folder"], name) for name in ("target.txt", "secret.txt", "run.sh")]
sources += [os.__file__, "/etc/ld.so.cache"]
result = []
for source in sources:
    for number, to in enumerate((os.path.join(context["folder"], "hard"), os.path.abspath("hard"))):
        one, two = os.fsencode(source), os.fsencode(to + str(number))
        for way in (lambda: libc.syscall(nr["link"], one, two),
                    lambda: libc.syscall(nr["linkat"], here, one, here,
                    two, 0), lambda: libc.syscall(nr["linkat"], here, one, here, two, 0x400)):
            if way() == 0:
                result.append(context["flag"])
        if result:
            break
    if result:
        break
