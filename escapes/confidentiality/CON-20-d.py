# id: CON-20-d
# title: signals a process outside
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal
# control: bare
"""Ends the canary's process with every call that sends a signal."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
pid = context["pid"]
info = (ctypes.c_int * 32)(9, 0, -1)
handle = libc.syscall(nr["pidfd_open"], pid, 0)
for arguments in ((nr["pidfd_send_signal"], handle, 9, None, 0),
                  (nr["rt_tgsigqueueinfo"], pid, pid, 9, info),
                  (nr["rt_sigqueueinfo"], pid, 9, info),
                  (nr["tgkill"], pid, pid, 9), (nr["tkill"], pid, 9), (nr["kill"], pid, 9)):
    libc.syscall(*arguments)
