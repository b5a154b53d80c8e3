# id: XRN-13-b
# title: makes a process that is a child of its own parent
# walls: full
# first: pid namespace
# second: kill by pidfd
# expect: ok
# limits: processes=2
# control: none: it would give the process that runs the control a child it does not know
"""A sibling of the jar would belong to the process that forks all jars, and stay."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
none = ctypes.c_long(0)
own = os.getpid()
# clone with CLONE_PARENT, and a child like that of fork
child = libc.syscall(nr["clone"], ctypes.c_long(0x8000 | 17), none, none, none, none)
if os.getpid() != own:
    os._exit(0)
if child > 0:
    result = context["flag"]
