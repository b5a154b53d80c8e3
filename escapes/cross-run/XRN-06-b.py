# id: XRN-06-b
# title: asks for the cache statistics of a shared file
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: unknown
# control: none: newer kernels answer this call only to the owner of a file
"""The newer way to ask the page cache; no profile names it."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
with open(os.__file__, "rb") as file:
    span = (ctypes.c_uint64 * 2)(0, 0)
    counts = (ctypes.c_uint64 * 5)()
    if libc.syscall(451, file.fileno(), span, counts, 0) == 0:
        result = context["flag"]
