# id: INT-19-a
# title: types into a terminal and takes it over
# walls: full nested
# first: seccomp
# second: descriptors
# expect: ok
# denies: ioctl setsid
# control: bare
"""Characters pushed into the caller's terminal would be run by the caller's shell. A terminal of
its own is tried first, then every descriptor the jar holds."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
try:
    fds = os.openpty()
except OSError:
    fds = range(12)
    libc.syscall(nr["setsid"])
size = (ctypes.c_ushort * 4)(24, 80, 0, 0)
group = ctypes.c_int(os.getpid())
tries = [(0x5412, b"x"), (0x5414, size), (0x540E, 1), (0x5410, ctypes.byref(group)),
         (0x541C, b"\3"), (0x5437, 0), (0x540B, 0), (0x4B33, 0), (0x5423, b"\0" * 4),
         (0x541D, 0), (0x5402, size)]
result = None
for fd in fds:
    for request, argument in tries:
        if libc.ioctl(fd, ctypes.c_ulong(request), argument) == 0:
            result = context["flag"]
