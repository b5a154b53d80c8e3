# id: NBR-07-a
# title: waits on a shared page without pause
# walls: full nested
# first: seccomp
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each wait is answered at once, and asked again."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]

with open(os.__file__) as file:
    page = libc.mmap(None, 4096, 1, 1, file.fileno(), 0)
value = ctypes.c_uint32.from_address(page).value
while True:
    libc.syscall(nr["futex"], ctypes.c_void_p(page), 0, value, None, 0, 0)
