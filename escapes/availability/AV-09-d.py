# id: AV-09-d
# title: scatters single pages over the address space to bloat page tables
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=16777216
# control: raised memory_bytes=268435456
"""A page that stands alone needs a table of its own, as large as itself, that no limit of resident
memory shows. The limit of the address space bounds the number of such pages."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
FAILED, FIXED_NOREPLACE = ctypes.c_void_p(-1).value, 0x100000
base = 0x100000000000
touched = 0
for number in range(15_000):
    at = libc.mmap(base + number * (2 << 20), 4096, 3, 0x22 | FIXED_NOREPLACE, -1, 0)
    if at == FAILED:
        raise MemoryError
    ctypes.memset(at, 1, 1)
    touched += 1
result = touched
