# id: XRN-12-b
# title: takes hold of the process it was forked from as a debugger
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: ptrace
# control: bare
"""Whoever can trace the parent of all jars is in every jar after that."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
own = os.getpid()
# Seizing does not stop the other, and ends with us.
for pid in [context["pid"], os.getppid(), 1, *range(max(own - 20, 2), own)]:
    if pid and libc.ptrace(0x4206, pid, None, None) == 0:
        result = context["flag"]
        break
