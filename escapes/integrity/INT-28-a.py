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
nr = context["nr"]
state = ctypes.create_string_buffer(256)
result = None
if libc.syscall(nr["adjtimex"], state) >= 0 or libc.syscall(nr["clock_adjtime"], 0, state) >= 0:
    result = context["flag"]
else:
    now = struct.pack("qq", int(time.time()), 0)
    name = b"carboy"
    for number, *words in ((nr["settimeofday"], now, None), (nr["clock_settime"], 0, now),
                           (nr["sethostname"], name, len(name)),
                           (nr["setdomainname"], name, len(name))):
        if libc.syscall(number, *words) == 0:
            result = context["flag"]
