# id: CON-29-d
# title: makes pairs of sockets that can be addressed
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socketpair bind listen accept accept4
# control: bare
"""A pair of streams stays in the jar. A pair of datagram sockets can be given another address, and
so leads out; and a stream must not become a server."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
pair = (ctypes.c_int * 2)()


def attack():
    for kind in (2, 5, 3, 2 | 0x80000, 2 | 1 << 32, 5 | 0x800):
        for family in (1, 1 | 1 << 32, 30):
            if libc.syscall(nr["socketpair"], ctypes.c_ulong(family), ctypes.c_ulong(kind), 0,
                            pair) == 0:
                return [context["flag"], family, kind]
    libc.syscall(nr["socketpair"], 1, 1, 0, pair)
    name = b"\x01\x00\x00own"
    for arguments in ((nr["bind"], pair[0], name, len(name)), (nr["listen"], pair[0], 1),
                      (nr["accept"], pair[0], None, None),
                      (nr["accept4"], pair[0], None, None, 0)):
        if libc.syscall(*arguments) >= 0:
            return context["flag"]
    return None


result = attack()
