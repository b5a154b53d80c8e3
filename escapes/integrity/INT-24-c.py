# id: INT-24-c
# title: changes its priority and its processors
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: setpriority sched_setscheduler sched_setparam sched_setattr sched_setaffinity ioprio_set
# control: bare
"""A guest in the real-time class, or with a better nice value, takes the machine from others."""

import ctypes
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
zero = ctypes.create_string_buffer(8)
fifo = ctypes.create_string_buffer(struct.pack("I", 1) + b"\0" * 4)
mask = ctypes.create_string_buffer(b"\xff" * 128)
attr = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 0, 0, 0, 0, 0, 0, 0))
calls = [(nr["sched_setaffinity"], 0, 128, mask), (nr["sched_setscheduler"], 0, 0, zero),
         (nr["sched_setparam"], 0, zero), (nr["sched_setattr"], 0, attr, 0),
         (nr["ioprio_set"], 1, 0, 2 << 13 | 4), (nr["setpriority"], 0, 0, 0),
         (nr["sched_setscheduler"], 0, 1, fifo), (nr["setpriority"], 0, 0, -20),
         (nr["ioprio_set"], 1, 0, 1 << 13), (nr["setpriority"], 1, 0, -20)]
result = None
for number, *words in calls:
    if result is None and libc.syscall(number, *words) == 0:
        result = context["flag"]
