# id: INT-19-b
# title: hides a terminal request behind high bits
# walls: full nested
# first: seccomp
# second: descriptors
# expect: ok
# denies: ioctl
# control: bare
"""The kernel looks at 32 bits of a request. A filter that compares 64 would let it pass as unknown,
or take a forbidden one for an allowed one."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
try:
    fds = os.openpty()
except OSError:
    fds = range(12)
size = (ctypes.c_ushort * 4)(24, 80, 0, 0)
result = None
for fd in fds:
    for request, argument in ((0x5412, b"x"), (0x5414, size)):
        for high in (0x123 << 32, 1 << 63, 0x5401 << 32, 0xFFFFFFFF << 32):
            if libc.syscall(nr["ioctl"], fd, ctypes.c_ulong(request | high), argument) == 0:
                result = context["flag"]
