# id: INT-18-d
# title: makes timers and queues that send signals
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: timer_create mq_notify
# control: bare
"""A timer can signal a thread by its number, a message queue the process that asked for it."""

import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
made = ctypes.c_int()
result = None
for thread in (libc.syscall(nr["gettid"]), context["pid"], 1):
    event = struct.pack("QiiI", 0, 64, 4, thread & 0xFFFFFFFF) + b"\0" * 48
    for clock in (1, 0, 2):
        if libc.syscall(nr["timer_create"], clock, event, ctypes.byref(made)) == 0:
            libc.syscall(nr["timer_delete"], made)
            result = context["flag"]
    if result:
        break
else:
    libc.syscall(nr["mq_notify"], 0, event)
