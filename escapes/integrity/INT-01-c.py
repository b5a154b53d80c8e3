# id: INT-01-c
# title: changes mode, times, size and attributes of a file of the host
# walls: full nested
# first: private root
# second: seccomp
# expect: ok
# denies: setxattr
# control: bare
"""What Landlock has no rule for: the mode, the times and the attributes of a file."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
target = os.path.join(context["folder"], "target.txt")
name = os.fsencode(target)
ways = [
    lambda: os.chmod(target, 0o600),
    lambda: os.chmod(context["folder"], 0o755),
    lambda: os.utime(target, (1, 1)),
    lambda: os.utime(context["folder"], (1, 1)),
    lambda: os.truncate(target, 3),
    lambda: os.setxattr(target, "user.carboy", b"x"),
]
for way in ways:
    try:
        way()
    except OSError:
        pass
for number, rest in (
    (nr["chmod"], (0o640,)),
    (nr["truncate"], (5,)),
):
    libc.syscall(number, name, *rest)
