# id: INT-20-h
# title: hides flags of renameat2, close_range and preadv2 behind high bits
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
"""Renaming can leave a device node behind, and a closed range can split the table of descriptors
from that of the other threads. The filter allows both calls without these flags."""

import ctypes
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
call = libc.syscall
call.restype = ctypes.c_long
HERE = ctypes.c_int(-100)
result = None
for high in (0, 1 << 32, 1 << 63, 0xFFFFFFFF << 32):
    open("own", "w").close()
    for flags in (4, 5):
        call(nr["renameat2"], HERE, b"own", HERE, b"moved", ctypes.c_ulong(flags | high))
        if os.path.lexists("own") and stat.S_ISCHR(os.lstat("own").st_mode):
            result = context["flag"]
    if call(nr["close_range"], ctypes.c_ulong(900), ctypes.c_ulong(901),
            ctypes.c_ulong(2 | high)) == 0:
        result = context["flag"]
