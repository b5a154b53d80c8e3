# id: NBR-06-a
# title: takes memory and gives it back without pause
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each page is cleared by the kernel, each time."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

block = libc.mmap(None, 128 << 20, 3, 0x22, -1, 0)
while True:
    ctypes.memset(block, 1, 128 << 20)
    libc.madvise(block, 128 << 20, 4)
