# id: INT-21-b
# title: uses the numbers of the x32 calls
# machine: x86_64
# walls: full nested
# first: seccomp
# second: none
# expect: denied
# expect session user: denied | crash
# control: none: most kernels are built without x32, and answer that there is no such call
"""Calls with bit 30 set are the same calls under other numbers."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for number in (39, 41, 520, 59):
    if libc.syscall(ctypes.c_long(0x40000000 | number), 2, 1, 0) >= 0:
        result = context["flag"]
