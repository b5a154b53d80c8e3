# id: NBR-05-a
# title: holds record locks until the kernel has no memory
# walls: full nested
# first: seccomp
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 memory_bytes=8388608
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each splits the one before, and no limit would count them."""

import fcntl
import os
import struct

file = os.open("x", os.O_RDWR | os.O_CREAT)
pack = struct.Struct("hhqqi4x").pack
fcntl.fcntl(file, fcntl.F_SETLK, pack(fcntl.F_RDLCK, 0, 0, 0, 0))
top = 1 << 40
while True:
    top -= 2
    fcntl.fcntl(file, fcntl.F_SETLK, pack(fcntl.F_UNLCK, 0, top, 1, 0))
