# id: AV-08-d
# title: reserves address space that is not writable and opens it later
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""A mapping without any right costs nothing, and neither does one that reserves nothing. Both are
given the right to be written afterwards, and are then filled."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PRIVATE, ANONYMOUS, NORESERVE = 0x02, 0x20, 0x4000
SIZE, FAILED = 3 << 20, ctypes.c_void_p(-1).value
for _ in range(35):
    at = libc.mmap(None, SIZE, 0, PRIVATE | ANONYMOUS | NORESERVE, -1, 0)
    if at == FAILED or libc.mprotect(at, SIZE, 3):
        rest = []  # until the kernel refuses: what was freed before may serve once more
        while True:
            rest.append(bytearray(SIZE))
    ctypes.memset(at, 1, SIZE)
result = "had it all"
