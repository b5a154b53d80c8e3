# id: CON-32-a
# title: passes descriptors through a socket
# walls: full nested
# first: seccomp
# second: descriptors
# expect: ok
# denies: recvmsg recvmmsg
# control: bare
"""Whoever can send and receive descriptors can take them from an accomplice. Sends one to itself,
and listens on everything that it holds."""

import array
import ctypes
import os
import socket

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
here, there = socket.socketpair()
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))]
try:
    here.sendmsg([b"x"], rights)
except OSError:
    os.write(here.fileno(), b"x")
try:
    said, extra, flags, who = there.recvmsg(1, socket.CMSG_SPACE(4))
    if extra:
        result = context["flag"]
except OSError:
    pass
try:
    if here.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12):
        result = context["flag"]
except OSError:
    pass
message = ctypes.create_string_buffer(64)
for fd in (0, 1, 2, 3, 4, here.fileno()):
    libc.syscall(nr["recvmmsg"], fd, message, 0, 0x40, None)
    libc.syscall(nr["recvmsg"], fd, message, 0x40)
    libc.syscall(nr["sendmsg"], fd, message, 0x4040)
