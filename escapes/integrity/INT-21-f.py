# id: INT-21-f
# title: hides the number of a call behind high bits
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok | denied
# control: bare
"""The kernel takes the number of a call from 32 bits of the register."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
result = None
for high in (1 << 32, 39 << 32, 1 << 62):
    if libc.syscall(ctypes.c_long(nr["socket"] | high), 2, 1, 0) >= 0:
        result = context["flag"]
