# id: NBR-05-c
# title: splits its memory into as many mappings as there can be
# walls: full nested
# first: rlimits
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each mapping is an object of the kernel."""

import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

for _ in range(120):
    block = libc.mmap(None, 2 << 20, 3, 0x22, -1, 0)
    for page in range(0, 2 << 20, 8192):
        if block in (None, 2**64 - 1) or libc.mprotect(block + page, 4096, 1):
            break
time.sleep(5)
