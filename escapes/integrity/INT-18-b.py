# id: INT-18-b
# title: sends a signal over a descriptor of a process
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: pidfd_open pidfd_send_signal
# control: bare
"""A descriptor of a process names it without its number. Descriptors that the jar holds are tried
too: none of them may be one of a process."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
pidfd = libc.syscall(nr["pidfd_open"], context["pid"], 0)
if pidfd >= 0:
    libc.syscall(nr["pidfd_send_signal"], pidfd, 9, None, 0)
else:
    for pid in (os.getppid(), 1, os.getpid()):
        libc.syscall(nr["pidfd_open"], pid, 0)
        libc.syscall(nr["pidfd_open"], pid, 0x80)
    for fd in range(16):
        for flags in (0, 1, 2, 4):
            libc.syscall(nr["pidfd_send_signal"], fd, 9, None, flags)
