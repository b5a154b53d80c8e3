# id: INT-21-c
# title: calls number -1
# walls: full nested
# first: seccomp
# second: none
# expect: denied
# expect session user: denied | crash
# expect aarch64: ok
# control: none: there is no such call
"""A number that a tracer uses to skip a call must not be taken for something else by the filter."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
if libc.syscall(ctypes.c_long(-1), 2, 1, 0) >= 0:
    result = context["flag"]
