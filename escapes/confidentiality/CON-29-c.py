# id: CON-29-c
# title: makes stream sockets of rarer protocols
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Landlock has rules for TCP only. Multipath TCP, SCTP, SMC, UDP-Lite and others carry data as well
and are known to few filters."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
kinds = [(family, kind, protocol) for family in (2, 10)
         for kind, protocol in ((1, 262), (5, 132), (1, 132), (2, 136), (6, 33), (3, 255))]
kinds += [(43, 1, 0), (43, 1, 1), (30, 5, 0), (41, 5, 0), (2, 1, 0)]


def attack():
    for family, kind, protocol in kinds:
        if libc.syscall(nr["socket"], family, kind, protocol) >= 0:
            return [context["flag"], family, kind, protocol]
    return None


result = attack()
