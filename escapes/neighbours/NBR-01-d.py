# id: NBR-01-d
# title: maps and unmaps large blocks without pause
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each block is large enough for the engine to be asked."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

while True:
    block = libc.mmap(None, 4 << 20, 3, 0x22, -1, 0)
    libc.munmap(block, 4 << 20)
