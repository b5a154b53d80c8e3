# id: INT-20-d
# title: asks for shared memory with high bits in the flags
# walls: full nested
# first: seccomp
# second: engine measure
# expect: ok
# denies: mmap
# control: bare
"""Shared memory without a file is not counted as private memory. The flags of mmap are a long word
of which the kernel looks at the low half."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.syscall.restype = ctypes.c_long
result = None
for high in (1 << 32, 1 << 62, 0x7FFFFFFF << 32):
    for flags in (0x21, 0x23, 0x122, 0x4021):
        words = [ctypes.c_long(word) for word in (0, 65536, 3, flags | high, -1, 0)]
        if libc.syscall(nr["mmap"], *words) > 0:
            result = context["flag"]
