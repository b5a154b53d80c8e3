# id: CON-32-b
# title: speaks on a socket that it inherited
# walls: full nested
# first: descriptors
# second: seccomp
# expect: ok
# control: bare
"""The first program stands for an engine that left a socket open. The second asks every descriptor
whether it is one, who is at its other end, and tries to be heard there."""

import socket

left = socket.socketpair()
left[0].setblocking(False)
# ---
import ctypes
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
buffer = ctypes.create_string_buffer(128)
size = ctypes.c_uint(128)
found = []
for fd in range(1024):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        continue
    if stat.S_ISSOCK(mode):
        found.append([fd, "kind"])
    for call in ("getsockname", "getpeername"):
        size.value = 128
        if libc.syscall(nr[call], fd, buffer, ctypes.byref(size)) == 0:
            found.append([fd, call])
    if libc.syscall(nr["sendto"], fd, b"x", ctypes.c_ulong(1), 0x4040, None, 0) > 0:
        found.append([fd, "send"])
    if libc.syscall(nr["recvfrom"], fd, buffer, ctypes.c_ulong(1), 0x40, None, None) > 0:
        found.append([fd, "receive"])
if found:
    result = [context["flag"], found]
