# id: AV-18-c
# title: puts a file in the place of standard output to print without end
# walls: full nested
# first: memory file system
# second: rlimits
# expect: limit file_bytes
# limits: file_bytes=1048576 printed_bytes=1000
# control: raised file_bytes=33554432
"""What goes to a file is not counted as output, so it must be counted as a file."""

import os

target = os.open("output", os.O_WRONLY | os.O_CREAT)
os.dup2(target, 1)
os.dup2(target, 2)
for _ in range(48):
    if os.write(1, bytes(65536)) < 65536:
        os.write(1, bytes(65536))
result = "three megabytes"
