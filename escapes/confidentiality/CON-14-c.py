# id: CON-14-c
# title: asks the kernel for its log and for the host's load
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: syslog
# control: bare
"""The log of the kernel holds addresses and the doings of others; load, uptime and free memory tell
how busy the host is."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
buffer = ctypes.create_string_buffer(4096)
told = []
for action in (3, 9, 10):  # read all, unread bytes, size
    if libc.syscall(nr["syslog"], action, buffer, 4096) >= 0:
        told.append(["syslog", action])
if libc.syscall(nr["sysinfo"], buffer) == 0:
    told.append("sysinfo")
load = (ctypes.c_double * 3)()
if libc.getloadavg(load, 3) > 0:
    told.append("getloadavg")
if told:
    result = [context["flag"], told]
