# id: INT-27-c
# title: rearranges the pages of a mapping
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: remap_file_pages pkey_mprotect
# control: bare
"""Old calls about mappings have had more than their share of bugs."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
try:
    fd = os.open(os.path.join(context["folder"], "target.txt"), os.O_RDWR)
except OSError:
    fd = os.open("own.bin", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 8192)
where = libc.mmap(0, 8192, 1, 1, fd, 0)
zero = ctypes.c_ulong(0)
page = ctypes.c_ulong(4096)
result = None
if libc.syscall(nr["remap_file_pages"], ctypes.c_void_p(where), page, zero, ctypes.c_ulong(1),
                zero) == 0:
    result = context["flag"]
if libc.syscall(nr["pkey_mprotect"], ctypes.c_void_p(where), page, ctypes.c_ulong(1),
                ctypes.c_long(-1)) == 0:
    result = context["flag"]
