# id: NBR-09-c
# title: ends with much memory in many pieces, again and again
# walls: full nested
# first: kill by pidfd
# second: engine clock
# expect: crash | limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""What a process leaves takes the kernel time to free."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]

for _ in range(100):
    ctypes.memset(libc.mmap(None, 1 << 20, 3, 0x22, -1, 0), 1, 1 << 20)
os._exit(1)
