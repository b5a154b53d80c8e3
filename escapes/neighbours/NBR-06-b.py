# id: NBR-06-b
# title: hides memory by making it read-only after it was written
# walls: full nested
# first: engine measure
# second: none
# expect: limit memory_bytes | limit wall_ms
# limits: wall_ms=500 memory_bytes=16777216
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""The limit of the kernel does not count what cannot be written."""

import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

while True:
    block = libc.mmap(None, 1 << 20, 3, 0x22, -1, 0)
    if block in (None, 2**64 - 1):
        time.sleep(5)
    ctypes.memset(block, 1, 1 << 20)
    libc.mprotect(block, 1 << 20, 1)
