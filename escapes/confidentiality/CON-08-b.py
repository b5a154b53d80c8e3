# id: CON-08-b
# title: counts its descriptors and looks what they are
# walls: full nested
# first: descriptors
# second: none
# expect: ok
# control: bare
"""A jar holds /dev/null and four pipes. The first program opens things of several kinds. If the
second finds a file, a directory, a socket or a sixth descriptor, it was passed in."""

import os
import select
import socket

left = [open("kept", "w"), os.open(".", os.O_RDONLY), socket.socketpair(), select.epoll()]
left.append(os.pipe())
os.unlink("kept")
# ---
import fcntl
import os
import stat

null = os.stat("/dev/null")
strange = []
held = 0
for fd in range(65536):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
    except OSError:
        continue
    held += 1
    about = os.fstat(fd)
    if stat.S_ISCHR(about.st_mode):
        same = about.st_rdev == null.st_rdev and about.st_dev == null.st_dev
    else:
        same = stat.S_ISFIFO(about.st_mode)
    if not same:
        strange.append([fd, oct(about.st_mode)])
result = [held, strange]
if strange or held > 5:
    result.append(context["flag"])
