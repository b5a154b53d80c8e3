# id: INT-01-f
# title: changes mode and times of a file of the host by every spelling of the calls
# walls: full nested
# first: private root
# second: seccomp
# expect: ok
# control: bare
"""Landlock has no rule for modes and times. Where the file tree is the host's, each spelling must be
answered as the one that the profile names."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
target = os.fsencode(os.path.join(context["folder"], "target.txt"))
HERE = ctypes.c_int(-100)
old = (ctypes.c_long * 4)(1, 0, 1, 0)
for number, rest in (
    (268, (HERE, target, 0o600)),  # fchmodat
    (452, (HERE, target, 0o640, 0)),  # fchmodat2
    (132, (target, old)),  # utime
    (235, (target, old)),  # utimes
    (261, (HERE, target, old)),  # futimesat
    (280, (HERE, target, old, 0)),  # utimensat
):
    call(number, *rest)
# A descriptor is enough to change what it is open on. Where the target cannot be opened, a file of
# the interpreter can.
descriptor = call(2, target, os.O_RDONLY, 0)
if descriptor < 0:
    descriptor = call(2, os.fsencode(os.__file__), os.O_RDONLY, 0)
mode = os.fstat(descriptor).st_mode & 0o777
call(91, descriptor, mode ^ 0o100)  # fchmod
if os.fstat(descriptor).st_mode & 0o777 != mode:
    call(91, descriptor, mode)
    result = context["flag"]
