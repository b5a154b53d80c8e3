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
nr = context["nr"]
BIND, PRIVATE = ctypes.c_ulong(0x1000), ctypes.c_ulong(0x44000)


def attack():
    if libc.syscall(nr["unshare"], 0x10020000) != 0:  # user and mount namespace
        libc.syscall(nr["unshare"], 0x00020000)
    libc.syscall(nr["mount"], b"none", b"/", None, PRIVATE, None)
    if libc.syscall(nr["mount"], context["folder"].encode(), b"point", None, BIND, None) == 0:
        text = open("point/secret.txt").read()
        libc.syscall(nr["umount2"], b"point", 2)
        return text
    if libc.syscall(nr["pivot_root"], b"point", b"point") == 0 or libc.syscall(nr["pivot_root"],
                                                                               b".", b".") == 0:
        return context["flag"]
    for place in (b"/jar", b"/tmp", b"/dev/null", b"/"):
        if libc.syscall(nr["umount2"], place, 2) == 0:
            return context["flag"]
    return None


os.mkdir("point")
result = attack()
os.rmdir("point")
