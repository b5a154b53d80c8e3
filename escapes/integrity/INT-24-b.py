# id: INT-24-b
# title: reads and sets the limits of another process
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: prlimit64
# control: bare
"""The limits of the parent or of a process of the host: reading them tells that it exists, setting
them stops it."""

import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
old = ctypes.create_string_buffer(16)
result = None
for pid in (context["pid"], 1, os.getppid() or 2, os.getpid()):
    for kind in (7, 0, 9):
        if libc.syscall(nr["prlimit64"], pid, kind, None, old) == 0:
            result = context["flag"]
        elif libc.syscall(nr["prlimit64"], pid, kind, struct.pack("QQ", 64, 64), old) == 0:
            result = context["flag"]
    if result:
        break
