# id: INT-28-a
# title: sets the clock and the name of the host
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: adjtimex clock_adjtime settimeofday clock_settime sethostname setdomainname
# control: bare
"""The clock is first only asked, which anybody may on a bare host; the rest sets what is there."""

import ctypes
import socket
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)
state = ctypes.create_string_buffer(256)
result = None
if libc.syscall(159, state) >= 0 or libc.syscall(305, 0, state) >= 0:
    result = context["flag"]
else:
    now = struct.pack("qq", int(time.time()), 0)
    name = b"carboy"
    for number, *words in ((164, now, None), (227, 0, now), (170, name, len(name)),
                           (171, name, len(name))):
        if libc.syscall(number, *words) == 0:
            result = context["flag"]
