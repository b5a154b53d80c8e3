# id: CON-32-c
# title: asks a socket pair for the process at its other end
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
"""A pair of sockets knows who made it. One option answers with a descriptor of that process, others
with its number and its user."""

import ctypes
import socket

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
one, two = socket.socketpair()
answer = ctypes.create_string_buffer(64)
result = None
for high in (0, 1 << 32, 1 << 63):
    for option in (17, 77):  # SO_PEERCRED, SO_PEERPIDFD
        length = ctypes.c_int(64)
        words = [ctypes.c_ulong(word) for word in (one.fileno(), 1 | high, option | high)]
        if libc.syscall(nr["getsockopt"], *words, answer, ctypes.byref(length)) == 0:
            result = context["flag"]
