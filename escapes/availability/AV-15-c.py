# id: AV-15-c
# title: reserves space without writing it
# walls: full nested
# first: memory file system
# second: rlimits
# expect: limit file_bytes | exception
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""Reserving takes the space at once and needs no time, so a look now and then would come late."""

import os

with open("big", "wb") as big:
    os.posix_fallocate(big.fileno(), 0, 8 << 20)
result = os.stat("big").st_size
