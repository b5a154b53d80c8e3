# id: CON-16-b
# title: connects to an abstract Unix socket
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Abstract names belong to no file system and no permission guards them: only the network
namespace, or a filter."""

import socket

for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    for family in (socket.AF_UNIX, 1 | 1 << 16):
        for flags in (0, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC):
            try:
                with socket.socket(family, kind | flags) as sock:
                    sock.connect("\0" + context["abstract"])
                    result = context["flag"]
            except OSError:
                pass
