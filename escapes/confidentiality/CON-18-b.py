# id: CON-18-b
# title: starts a process or a thread in namespaces of its own
# walls: full nested
# first: seccomp
# second: user namespace
# expect: ok
# denies: clone
# control: bare
"""The flags of clone make the same namespaces as unshare, and a filter must read them bit by bit,
also where they are mixed with those of a thread."""

import ctypes
import os

libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock: a child may go on
nr = context["nr"]
kinds = (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000)


def attack():
    for ending in (17, 1 << 32 | 17, 0x8000 | 17, 0x10000000 | 17, 0x00010f00):
        for kind in kinds:
            pid = libc.syscall(nr["clone"], ctypes.c_ulong(kind | ending), None, None, None, None)
            if pid == 0:
                os._exit(0)
            if pid > 0:
                os.waitpid(pid, 0)
                return [context["flag"], hex(kind)]
    return None


result = attack()
