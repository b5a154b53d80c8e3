# id: INT-26-a
# title: executes a program that exists only in memory
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: memfd_create execveat
# control: bare
"""A file without a name is on no mount that could forbid execution."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
script = b"#!/bin/sh\ncat " + os.fsencode(context["secret_file"]) + b"\n"
fd = libc.syscall(nr["memfd_create"], b"program", 0)
if fd < 0:
    fd = os.open("program", os.O_CREAT | os.O_RDWR, 0o777)
    os.set_inheritable(fd, True)
os.write(fd, script)
arguments = (ctypes.c_char_p * 2)(b"program", None)
nothing = (ctypes.c_char_p * 2)(b"PATH=/usr/bin:/bin", None)
libc.syscall(nr["execveat"], fd, b"", arguments, nothing, 0x1000)
path = os.fsencode(os.path.join(context["folder"], "run.sh"))
libc.syscall(nr["execveat"], -100, path, arguments, nothing, 0)
