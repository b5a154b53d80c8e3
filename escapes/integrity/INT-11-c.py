# id: INT-11-c
# title: reserves room beyond the end of a file
# walls: full nested
# first: seccomp
# second: memory file system
# expect: ok
# control: bare
"""Reserved room does not show in a file's size. It would be a place that nobody counts."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
try:
    fd = os.open(os.path.join(context["folder"], "target.txt"), os.O_RDWR)
except OSError:
    fd = os.open("own.bin", os.O_RDWR | os.O_CREAT)
result = None
for mode in (1, 3, 1 | 8, 16, 32, 64, 1 | 1 << 32):
    if libc.syscall(nr["fallocate"], fd, ctypes.c_ulong(mode), ctypes.c_long(0),
                    ctypes.c_long(65536)) == 0:
        result = context["flag"]
        break
