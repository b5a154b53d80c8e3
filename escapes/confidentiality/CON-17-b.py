# id: CON-17-b
# title: mounts a directory of the host and moves its root there
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: unshare mount pivot_root umount2
# control: bare
"""Binds the canary's directory into its own and reads it there, then tries to change and to detach
the root. Namespaces of its own come first: whoever gets them leaves the host's mounts alone."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
BIND, PRIVATE = ctypes.c_ulong(0x1000), ctypes.c_ulong(0x44000)


def attack():
    if libc.syscall(272, 0x10020000) != 0:  # user and mount namespace
        libc.syscall(272, 0x00020000)
    libc.syscall(165, b"none", b"/", None, PRIVATE, None)
    if libc.syscall(165, context["folder"].encode(), b"point", None, BIND, None) == 0:
        text = open("point/secret.txt").read()
        libc.syscall(166, b"point", 2)
        return text
    if libc.syscall(155, b"point", b"point") == 0 or libc.syscall(155, b".", b".") == 0:
        return context["flag"]
    for place in (b"/jar", b"/tmp", b"/dev/null", b"/"):
        if libc.syscall(166, place, 2) == 0:
            return context["flag"]
    return None


os.mkdir("point")
result = attack()
os.rmdir("point")
