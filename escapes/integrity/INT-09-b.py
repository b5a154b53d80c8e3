# id: INT-09-b
# title: binds a socket to a name among its artifacts
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: bind
# control: bare
"""A pair of sockets is allowed; giving one of them a name in the file system is not."""

import ctypes
import os
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
one, two = socket.socketpair()
result = None
names = [os.path.join(context["folder"], "door").encode(), b"door", b"\0bj-door", b""]
for name in names:
    address = struct.pack("H", socket.AF_UNIX) + name
    if libc.syscall(nr["bind"], one.fileno(), address, len(address)) == 0:
        result = context["flag"]
        if os.path.exists(name or b"?"):
            os.unlink(name)
        break
