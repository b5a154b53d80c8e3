# id: INT-20-a
# title: asks for a socket with high bits in every argument
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket socketpair
# control: bare
"""The kernel cuts the family, the type and the protocol to 32 bits. So must the filter."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.syscall.restype = ctypes.c_long
pair = (ctypes.c_int * 2)()
result = None
for high in (1 << 32, 1 << 63, 0xFFFFFFFF << 32):
    for family in (2, 1, 10, 16):
        for kind in (1, 2, 3):
            words = [ctypes.c_ulong(word | high) for word in (family, kind, 0)]
            if libc.syscall(nr["socket"], *words) >= 0:
                result = context["flag"]
    for family, kind in ((1, 2), (1, 5), (2, 1)):
        words = [ctypes.c_ulong(word | high) for word in (family, kind, 0)]
        if libc.syscall(nr["socketpair"], *words, pair) == 0:
            result = context["flag"]
