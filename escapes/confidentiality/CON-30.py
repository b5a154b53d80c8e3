# id: CON-30
# title: makes a socket to the hypervisor
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: socket
# control: bare
"""Sockets between a virtual machine and its host belong to no network namespace: one that can be
made can be connected. It is only made here."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
made = []
for kind in (1, 2, 5):
    for flags in (0, 0x80000, 0x800):
        fd = libc.syscall(nr["socket"], 40, kind | flags, 0)
        if fd >= 0:
            made.append(kind)
            os.close(fd)
for name in ("/dev/vsock", "/dev/vhost-vsock"):
    try:
        os.close(os.open(name, os.O_RDONLY))
        made.append(name)
    except OSError:
        pass
if made:
    result = [context["flag"], made]
