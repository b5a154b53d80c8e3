# id: AV-08-h
# title: asks for shared memory and for a stack, which no limit of data counts
# walls: full nested
# first: seccomp
# second: engine measure
# expect: ok
# denies: mmap
# control: bare
"""Shared anonymous memory and mappings that grow downwards are left out of the kernel's limit of
data. Here they are asked for in small pieces, below the size that is announced."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
SHARED, PRIVATE, VALIDATE, ANONYMOUS, GROWSDOWN = 0x01, 0x02, 0x03, 0x20, 0x100
FAILED = ctypes.c_void_p(-1).value
for flags in (
    SHARED | ANONYMOUS,
    VALIDATE | ANONYMOUS,
    PRIVATE | ANONYMOUS | GROWSDOWN,
    PRIVATE | ANONYMOUS | GROWSDOWN | 0x20000,
):
    for size in (4096, 1 << 20):
        if libc.mmap(None, size, 3, flags, -1, 0) != FAILED:
            result = context["flag"]
