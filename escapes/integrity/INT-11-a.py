# id: INT-11-a
# title: makes one file larger than all files may be, without filling it
# walls: full nested
# first: rlimits
# second: engine measure
# expect: exception | limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=67108864
"""A sparse file takes no room, but whoever collects it by its size reads for ever."""

import os

file = open("sparse.bin", "wb")
os.ftruncate(file.fileno(), 33554432)
size = os.fstat(file.fileno()).st_size
file.close()
os.unlink("sparse.bin")
result = size
