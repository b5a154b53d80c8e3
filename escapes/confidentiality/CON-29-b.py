# id: CON-29-b
# title: makes sockets that speak with the kernel or with the wire
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Packets, raw messages, ciphers, and the sockets on which the kernel tells about devices, routes
and audits. Namespaces alone leave several of them open."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
kinds = {
    "packet": (17, 3, 0x0300), "raw": (2, 3, 1), "raw6": (10, 3, 58), "ping": (2, 2, 1),
    "cipher": (38, 5, 0), "xdp": (44, 3, 0), "key": (15, 3, 2), "bluetooth": (31, 3, 1),
    "routes": (16, 3, 0), "diagnosis": (16, 3, 4), "netfilter": (16, 3, 12),
    "events": (16, 2, 15), "generic": (16, 3, 16), "audit": (16, 3, 9), "crypto": (16, 3, 21),
}


def attack():
    for name, (family, kind, protocol) in kinds.items():
        if libc.syscall(nr["socket"], family, kind | 0x80000, protocol) >= 0:
            return [context["flag"], name]
    return None


result = attack()
