# id: AV-06-c
# title: freezes its own process behind a child
# walls: full
# first: seccomp
# second: engine clock
# expect: ok
# denies: execve
# limits: processes=1
# control: bare
"""A parent made with the flag of vfork stands still in the kernel, and cannot be interrupted,
until the child ends. The child takes its time. Nothing but the start of a program needs that flag."""

import ctypes
import os
import time

CLONE_VFORK, SIGCHLD = 0x4000, 17
libc = ctypes.PyDLL(None, use_errno=True)
nr = context["nr"]
child = libc.syscall(nr["clone"], CLONE_VFORK | SIGCHLD, None, None, None, None)
if child == 0:
    time.sleep(context["hold"])
    os._exit(0)
if child > 0:
    result = context["flag"]
