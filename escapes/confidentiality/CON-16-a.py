# id: CON-16-a
# title: connects to a Unix socket by its path
# walls: full nested
# first: seccomp
# second: private root
# expect: ok
# denies: socket connect
# control: bare
"""Services of the host listen on sockets in the file system and trust whoever can reach them. Tries
the canary's path, directly, through a link, and with a pair that the jar may make."""

import ctypes
import os
import socket

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
os.symlink(context["unix"], "door")
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    for path in (context["unix"], "door", "../" * 64 + context["unix"].lstrip("/")):
        try:
            with socket.socket(socket.AF_UNIX, kind) as sock:
                sock.connect(path)
                sock.sendall(b"hello")
                result = context["flag"]
        except OSError:
            pass
os.unlink("door")
here, there = socket.socketpair()
address = ctypes.create_string_buffer(b"\x01\x00" + context["unix"].encode() + b"\x00")
for fd in (here.fileno(), 0, 1, 3, 4):
    if libc.syscall(nr["connect"], fd, address, len(address)) == 0:
        result = context["flag"]
