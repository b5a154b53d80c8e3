# id: CON-29-a
# title: makes sockets of every family and type
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Goes through all families and types by number until one can be made. None may: the only sockets
of a jar are pairs."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]


def attack():
    for family in range(1, 47):
        for kind in (1, 2, 3, 5, 1 | 0x80800):
            if libc.syscall(nr["socket"], family, kind, 0) >= 0:
                return [context["flag"], family, kind]
    for family in (1 | 1 << 32, 2 | 1 << 32):
        if libc.syscall(nr["socket"], ctypes.c_ulong(family), 1, 0) >= 0:
            return [context["flag"], family]
    return None


result = attack()
