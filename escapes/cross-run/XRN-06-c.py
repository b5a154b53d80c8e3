# id: XRN-06-c
# title: reads a shared file only if it is in memory already
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
"""A read that refuses to wait for the disk is an exact oracle of the page cache."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
with open(os.__file__, "rb") as file:
    file.read()
    block = ctypes.create_string_buffer(64)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(block), 64)
    # preadv2 with RWF_NOWAIT
    one, none, flags = ctypes.c_long(1), ctypes.c_long(0), ctypes.c_long(8)
    if libc.syscall(nr["preadv2"], file.fileno(), vector, one, none, none, flags) >= 0:
        result = context["flag"]
