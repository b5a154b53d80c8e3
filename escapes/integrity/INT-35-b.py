# id: INT-35-b
# title: enlarges pipes and changes what descriptors do
# walls: full nested
# first: seccomp
# second: rlimits
# expect: ok
# denies: fcntl
# control: bare
"""A larger pipe holds more than the engine reckons with; an owner, a lease or a seal changes what
the other end sees."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
read, write = os.pipe()
fds = [write, read]
try:
    open(context["secret_file"]).close()
    bare = True
except OSError:
    bare = False
if not bare:
    fds += range(12)
result = None
for fd in fds:
    for operation, value in ((1031, 1 << 20), (1031, 4096), (8, 0), (10, 34), (1024, 1), (1026, 1),
                             (1033, 15), (1036, 0), (1040, 0), (36, 0), (37, 0), (38, 0)):
        if libc.fcntl(fd, operation, ctypes.c_long(value)) >= 0:
            result = context["flag"]
