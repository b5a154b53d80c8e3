# id: INT-20-c
# title: hides process attributes and descriptor operations behind high bits
# walls: full nested
# first: seccomp
# second: no new privileges
# expect: ok
# denies: prctl fcntl
# control: bare
"""Operations of prctl and fcntl are filtered by a number of 32 bits."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
read, write = os.pipe()
result = None
for high in (1 << 32, 1 << 63, 15 << 32, 0xFFFFFFFF << 32):
    for operation, value in ((4, 1), (8, 0), (1, 0), (36, 0), (38, 1)):
        word = ctypes.c_ulong(operation | high)
        if libc.syscall(nr["prctl"], word,
                        *[ctypes.c_ulong(word) for word in (value, 0, 0, 0)]) == 0:
            result = context["flag"]
    for operation, value in ((1031, 65536), (8, 0), (10, 0), (1024, 2)):
        if libc.syscall(nr["fcntl"], write, ctypes.c_ulong(operation | high),
                        ctypes.c_ulong(value)) >= 0:
            result = context["flag"]
