# id: CON-20-e
# title: has the kernel signal a process outside when a pipe becomes ready
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: fcntl ioctl
# control: bare
"""A descriptor can have an owner who is told by signal that there is something to read. Nobody
checks the call that sends it, because there is none."""

import ctypes
import fcntl
import os
import signal
import struct
import time

F_SETSIG, F_SETOWN_EX = 10, 15
FIOSETOWN, FIOASYNC = 0x8901, 0x5452
pid = context["pid"]
here, there = os.pipe()
ways = [
    lambda: fcntl.fcntl(here, F_SETSIG, signal.SIGTERM),
    lambda: fcntl.fcntl(here, fcntl.F_SETOWN, pid),
    lambda: fcntl.fcntl(here, F_SETOWN_EX, struct.pack("ii", 1, pid)),
    lambda: fcntl.ioctl(here, FIOSETOWN, struct.pack("i", pid)),
    lambda: fcntl.ioctl(here, FIOASYNC, struct.pack("i", 1)),
    lambda: fcntl.fcntl(here, fcntl.F_SETFL, fcntl.fcntl(here, fcntl.F_GETFL) | 0x2000),
]
for way in ways:
    try:
        way()
    except OSError:
        pass
os.write(there, b"x")
time.sleep(0.2)
