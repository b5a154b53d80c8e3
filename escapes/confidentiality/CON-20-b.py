# id: CON-20-b
# title: cuts a file of the host short without a right to write it
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Cutting a file is a right of its own, which early versions of Landlock do not know. Tries it by
path, by descriptor, and while opening only to read; inside also on the library."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
target = os.path.join(context["folder"], "target.txt")
ways = [
    lambda path: libc.syscall(nr["truncate"], path.encode(), ctypes.c_long(3)),
    lambda path: os.open(path, os.O_RDONLY | os.O_TRUNC),
    lambda path: os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT),
    lambda path: os.ftruncate(os.open(path, os.O_RDONLY), 3),
    lambda path: os.ftruncate(os.open(path, os.O_PATH), 3),
    lambda path: libc.syscall(nr["fallocate"], os.open(path, os.O_RDONLY), 0, ctypes.c_long(0),
                              ctypes.c_long(99)),
]
for way in ways:
    try:
        way(target)
    except OSError:
        pass
