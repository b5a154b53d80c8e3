# id: NBR-05-b
# title: touches one page in each gibibyte
# walls: full nested
# first: engine measure
# second: none
# expect: limit memory_bytes | limit wall_ms
# limits: wall_ms=500 memory_bytes=67108864
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each page needs two page tables of its own."""

import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]

for at in range(0x10_0000_0000, 0x4000_0000_0000, 1 << 30):
    page = libc.mmap(at, 4096, 1, 0x100022, -1, 0)
    if page in (None, 2**64 - 1):
        break
    ctypes.c_char.from_address(page).value
time.sleep(5)
