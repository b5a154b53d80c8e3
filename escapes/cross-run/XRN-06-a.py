# id: XRN-06-a
# title: asks which pages of a shared file are in memory
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: mincore
# control: bare
"""The page cache is shared. Asking it would tell which modules other runs have read."""

import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
with open(os.__file__, "rb") as file:
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
there = ctypes.create_string_buffer(len(pages) // 4096 + 1)
if libc.syscall(nr["mincore"], ctypes.c_void_p(start), ctypes.c_size_t(len(pages)), there) == 0:
    result = context["flag"]
