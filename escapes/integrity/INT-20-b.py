# id: INT-20-b
# title: asks for a namespace with high bits in the flags of clone
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: clone
# control: bare
"""The flags of clone are 32 bits in a register of 64. A child in a user namespace has all rights
there."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.syscall.restype = ctypes.c_long
result = None
for flags in (0x10000000, 0x10000000 | 0x04000000, 0x20000000, 0x00020000, 0x40000000, 0):
    for high in (1 << 32, 1 << 63, 0xFFFFFFFF << 32):
        if result:
            break
        child = libc.syscall(nr["clone"], ctypes.c_ulong(flags | high | 17), None, None, None, None)
        if child == 0:
            os._exit(0)
        if child > 0:
            os.waitpid(child, 0)
            result = context["flag"]
