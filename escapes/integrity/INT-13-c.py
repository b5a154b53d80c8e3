# id: INT-13-c
# title: gives files to another owner
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: chown lchown fchown fchownat
# control: bare
"""A file with a foreign owner could not be removed, or would be trusted by somebody."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
try:
    file = open(os.path.join(context["folder"], "target.txt"), "r+b")
except OSError:
    file = open("own.txt", "wb")
path = os.fsencode(file.name)
result = None
for user in (os.getuid(), 0, 65534, 1900000000):
    for way in (lambda: libc.syscall(nr["chown"], path, user, -1),
                lambda: libc.syscall(nr["lchown"], path, user, -1),
                lambda: libc.syscall(nr["fchown"], file.fileno(), user, -1),
                lambda: libc.syscall(nr["fchownat"], -100, path, user, -1, 0)):
        if result is None and way() == 0:
            result = context["flag"]
