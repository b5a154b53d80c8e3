# id: CON-18-a
# title: makes namespaces for itself
# walls: full nested
# first: seccomp
# second: user namespace
# expect: ok
# denies: unshare
# control: bare
"""A new user namespace gives back every capability inside it, and with them most of the kernel's
attack surface."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
kinds = {"user": 0x10000000, "mount": 0x00020000, "pid": 0x20000000, "network": 0x40000000,
         "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x80,
         "files": 0x400, "directory": 0x200, "all": 0x7e020000}
made = []
for high in (0, 1 << 32):
    for name, flag in kinds.items():
        if libc.syscall(nr["unshare"], ctypes.c_ulong(flag | high)) == 0:
            made.append(name)
if made:
    result = [context["flag"], made]
