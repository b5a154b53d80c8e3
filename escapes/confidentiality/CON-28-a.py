# id: CON-28-a
# title: sends datagrams to the host
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket sendto sendmmsg
# control: bare
"""A datagram needs no connection. Sends some from sockets of its own, and from a pair of sockets
with an address."""

import ctypes
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
address = ("127.0.0.1", context["udp"])
mapped = ("::ffff:127.0.0.1", context["udp"])
for family, protocol in ((socket.AF_INET, 0), (socket.AF_INET, 136), (socket.AF_INET6, 0)):
    try:
        with socket.socket(family, socket.SOCK_DGRAM, protocol) as sock:
            sock.sendto(b"hello", address if family == socket.AF_INET else mapped)
    except OSError:
        pass
here, there = socket.socketpair()
raw = struct.pack("!HHI8x", socket.htons(socket.AF_INET), address[1], 0x7F000001)
for fd in (here.fileno(), there.fileno(), 0, 1, 3, 4):
    libc.syscall(nr["sendto"], fd, b"hello", ctypes.c_ulong(5), 0x4000, raw, 16)
    libc.syscall(nr["sendmmsg"], fd, None, 0, 0x4000)
