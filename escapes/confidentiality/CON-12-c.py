# id: CON-12-c
# title: takes descriptors out of other processes
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: pidfd_open pidfd_getfd kcmp
# control: bare
"""Opens processes by number, copies their descriptors, and compares what they share with what it
has itself."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
zero = ctypes.c_ulong(0)


def attack():
    for pid in (context["pid"], os.getpid(), os.getppid(), 1):
        done = []
        handle = libc.syscall(nr["pidfd_open"], pid, 0)
        if handle >= 0:
            done.append("pidfd_open")
        for fd in range(8):
            if libc.syscall(nr["pidfd_getfd"], handle if handle >= 0 else fd, fd, 0) >= 0:
                done.append("pidfd_getfd")
        for kind in range(7):
            if libc.syscall(nr["kcmp"], os.getpid(), pid, kind, zero, zero) >= 0:
                done.append("kcmp")
        if done:
            return [context["flag"], pid, done]
    return None


result = attack()
