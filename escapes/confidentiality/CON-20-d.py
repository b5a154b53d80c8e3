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
pid = context["pid"]
info = (ctypes.c_int * 32)(9, 0, -1)
handle = libc.syscall(434, pid, 0)
for arguments in ((424, handle, 9, None, 0), (297, pid, pid, 9, info), (129, pid, 9, info),
                  (234, pid, pid, 9), (200, pid, 9), (62, pid, 9)):
    libc.syscall(*arguments)
