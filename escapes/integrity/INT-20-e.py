# id: INT-20-e
# title: asks for a block whose size has nothing in its low half
# walls: full nested
# first: rlimits
# second: engine measure
# expect: ok | limit memory_bytes
# control: bare
"""A size of exactly 4 GiB looks like nothing to a filter that compares 32 bits of it."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.syscall.restype = ctypes.c_long
result = None
for size in (1 << 32, 1 << 33, (1 << 32) + 4096, 1 << 40):
    for flags in (0x22, 0x4022):
        words = [ctypes.c_long(word) for word in (0, size, 3, flags, -1, 0)]
        where = libc.syscall(nr["mmap"], *words)
        if where > 0:
            ctypes.memset(where + size - 4096, 1, 1)
            libc.munmap(ctypes.c_void_p(where), ctypes.c_size_t(size))
            result = context["flag"]
            break
