# id: INT-18-c
# title: lets the kernel send a signal when a pipe becomes readable
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: fcntl ioctl
# control: bare
"""The owner of a descriptor gets a signal when something happens on it. The owner can be anybody,
and the signal any."""

import ctypes
import os
import socket
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)
pid = context["pid"]
for read, write in (os.pipe(), [end.detach() for end in socket.socketpair()]):
    libc.fcntl(read, 10, 9)  # F_SETSIG
    libc.fcntl(read, 8, pid)  # F_SETOWN
    libc.fcntl(read, 15, struct.pack("ii", 1, pid))  # F_SETOWN_EX
    libc.ioctl(read, 0x8901, struct.pack("i", pid))  # FIOSETOWN
    libc.ioctl(read, 0x8902, struct.pack("i", pid))  # SIOCSPGRP
    libc.fcntl(read, 4, os.O_ASYNC | os.O_NONBLOCK)  # F_SETFL
    one = ctypes.c_int(1)
    libc.ioctl(read, 0x5452, ctypes.byref(one))  # FIOASYNC
    os.write(write, b"x")
here = os.open(".", os.O_RDONLY)
libc.fcntl(here, 1026, 0x8000003F)  # F_NOTIFY
libc.fcntl(here, 1024, 0)  # F_SETLEASE
time.sleep(0.1)
