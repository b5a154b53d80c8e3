# id: CON-18-c
# title: starts a process in namespaces of its own with clone3
# walls: full nested
# first: seccomp
# second: user namespace
# expect: ok
# control: bare
"""The newer call keeps its flags in memory, where no filter can read them. It must not be there at
all."""

import ctypes
import os

libc = ctypes.PyDLL(None, use_errno=True)
nr = context["nr"]
made = []
for flags in (0x10000000, 0x10000000 | 0x00020000, 0x10000000 | 0x40000000, 0x2000000, 0x80, 0):
    for size in (64, 80, 88):
        arguments = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, 17)
        pid = libc.syscall(nr["clone3"], arguments, ctypes.c_ulong(size))
        if pid == 0:
            os._exit(0)
        if pid > 0:
            made.append(hex(flags))
            os.waitpid(pid, 0)
if made:
    result = [context["flag"], made]
