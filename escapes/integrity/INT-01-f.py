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
nr = context["nr"]
call = libc.syscall
target = os.fsencode(os.path.join(context["folder"], "target.txt"))
HERE = ctypes.c_int(-100)
old = (ctypes.c_long * 4)(1, 0, 1, 0)
for number, rest in (
    (nr["fchmodat"], (HERE, target, 0o600)),
    (nr["fchmodat2"], (HERE, target, 0o640, 0)),
    (nr["utime"], (target, old)),
    (nr["utimes"], (target, old)),
    (nr["futimesat"], (HERE, target, old)),
    (nr["utimensat"], (HERE, target, old, 0)),
):
    call(number, *rest)
# A descriptor is enough to change what it is open on. Where the target cannot be opened, a file of
# the interpreter can.
descriptor = call(nr["open"], target, os.O_RDONLY, 0)
if descriptor < 0:
    descriptor = call(nr["open"], os.fsencode(os.__file__), os.O_RDONLY, 0)
mode = os.fstat(descriptor).st_mode & 0o777
call(nr["fchmod"], descriptor, mode ^ 0o100)
if os.fstat(descriptor).st_mode & 0o777 != mode:
    call(nr["fchmod"], descriptor, mode)
    result = context["flag"]
