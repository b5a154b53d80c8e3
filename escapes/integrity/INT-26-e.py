# id: INT-26-e
# title: makes children that nobody granted
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: fork
# control: bare
"""fork, clone with innocent-looking flags, and clone3, whose flags a filter cannot see."""

import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.syscall.restype = ctypes.c_long
three = ctypes.create_string_buffer(struct.pack("QQQQQQQQ", 0, 0, 0, 0, 17, 0, 0, 0))
calls = [(nr["fork"],), (nr["clone"], ctypes.c_ulong(17), None, None, None, None),
         (nr["clone3"], three, ctypes.c_ulong(64))]
calls += [(nr["clone"], ctypes.c_ulong(flags | 17), None, None, None, None)
          for flags in (0x400, 0x200, 0x8000, 0x2000, 0x1000000, 0x80000000)]
result = None
for number, *words in calls:
    child = libc.syscall(number, *words)
    if child == 0:
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
        result = context["flag"]
        break
