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
zero = ctypes.create_string_buffer(8)
fifo = ctypes.create_string_buffer(struct.pack("I", 1) + b"\0" * 4)
mask = ctypes.create_string_buffer(b"\xff" * 128)
attr = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 0, 0, 0, 0, 0, 0, 0))
calls = [(203, 0, 128, mask), (144, 0, 0, zero), (142, 0, zero), (314, 0, attr, 0),
         (251, 1, 0, 2 << 13 | 4), (141, 0, 0, 0), (144, 0, 1, fifo), (141, 0, 0, -20),
         (251, 1, 0, 1 << 13), (141, 1, 0, -20)]
result = None
for number, *words in calls:
    if result is None and libc.syscall(number, *words) == 0:
        result = context["flag"]
