# id: INT-08-c
# title: marks its files as immutable
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: ioctl
# control: bare
"""A file with the flag for immutable or append-only cannot be deleted by an ordinary removal."""

import fcntl
import os
import struct

GET, SET, SET_32 = 0x80086601, 0x40086602, 0x40046602
NO_DUMP, IMMUTABLE, APPEND = 0x40, 0x10, 0x20
try:
    file, marks = open(os.path.join(context["folder"], "target.txt")), [NO_DUMP]
except OSError:
    file, marks = open("own.txt", "w"), [NO_DUMP, IMMUTABLE, APPEND]
result = []
for mark in marks:
    for request in (SET, SET_32):
        try:
            fcntl.ioctl(file.fileno(), request, struct.pack("q", mark))
            result.append(context["flag"])
        except OSError as error:
            result.append(error.errno)
