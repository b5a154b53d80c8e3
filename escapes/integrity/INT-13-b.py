# id: INT-13-b
# title: gives files attributes, capabilities and access lists
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: setxattr lsetxattr fsetxattr removexattr
# control: bare
"""Attributes outlive a copy with the wrong tool: file capabilities among them."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
try:
    file = open(os.path.join(context["folder"], "target.txt"), "r+b")
except OSError:
    file = open("own.txt", "wb")
path = os.fsencode(file.name)
cap = b"\x01\x00\x00\x02" + b"\xff" * 16
names = [(b"user.carboy", b"x"), (b"security.capability", cap),
         (b"system.posix_acl_access", b"\2"), (b"trusted.x", b"x"), (b"security.ima", b"x")]
result = None
for name, value in names:
    for way in (lambda: libc.syscall(nr["setxattr"], path, name, value, len(value), 0),
                lambda: libc.syscall(nr["lsetxattr"], path, name, value, len(value), 0),
                lambda: libc.syscall(nr["fsetxattr"], file.fileno(), name, value, len(value), 0)):
        if result is None and way() == 0:
            result = context["flag"]
if result is None:
    libc.syscall(nr["removexattr"], path, b"user.carboy")
