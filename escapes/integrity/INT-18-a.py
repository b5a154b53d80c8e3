# id: INT-18-a
# title: sends signals to processes of the host
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo
# control: bare
"""Signals to a process of the host, to the parent, to the first process and to everybody."""

import ctypes
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
info = ctypes.create_string_buffer(128)
ctypes.c_int.from_buffer(info, 0).value = 9
ctypes.c_int.from_buffer(info, 8).value = -1
pid = context["pid"]
try:
    os.kill(pid, signal.SIGKILL)
    gone = True
except OSError:
    gone = False
if not gone:
    for pid in (pid, os.getppid(), 1, 2, 0, -1, -context["pid"]):
        for high in (0, 1 << 32):
            number = ctypes.c_long(pid + high)
            libc.syscall(nr["kill"], number, 9)
            libc.syscall(nr["tkill"], number, 9)
            libc.syscall(nr["tgkill"], number, number, 9)
            libc.syscall(nr["rt_sigqueueinfo"], number, 9, info)
            libc.syscall(nr["rt_tgsigqueueinfo"], number, number, 9, info)
