# id: AV-09-f
# title: makes timers, watches and signal descriptors
# walls: full nested
# first: seccomp
# second: rlimits
# expect: ok
# denies: timer_create timerfd_create inotify_init1 signalfd4
# control: bare
"""Kernel objects that are counted by user, not by process: a jar that used them up would take them
from every other one."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
timer, mask = ctypes.c_int(0), ctypes.c_uint64(0)
if libc.syscall(nr["timer_create"], 1, None, ctypes.byref(timer)) == 0:
    libc.syscall(nr["timer_delete"], timer)
    result = context["flag"]
for made in (
    libc.syscall(nr["timerfd_create"], 1, 0),
    libc.syscall(nr["inotify_init1"], 0),
    libc.syscall(nr["signalfd4"], -1, ctypes.byref(mask), 8, 0),
):
    if made >= 0:
        os.close(made)
        result = context["flag"]
