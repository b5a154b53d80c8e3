# id: CON-12-a
# title: attaches to other processes as a debugger
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: ptrace
# control: bare
"""Seizes or attaches to the canary's process, then the parent and the first process. A debugger
reads and writes everything that its process holds."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
SEIZE, ATTACH, DETACH = 0x4206, 16, 17


def attack():
    for pid in (context["pid"], os.getppid(), 1):
        for request in (SEIZE, ATTACH):
            if libc.syscall(nr["ptrace"], request, pid, None, None) == 0:
                libc.syscall(nr["ptrace"], DETACH, pid, None, None)
                return [context["flag"], pid]
    return None


result = attack()
