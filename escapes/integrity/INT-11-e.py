# id: INT-11-e
# title: fills files that have no name any more
# walls: full
# first: memory file system
# second: engine measure
# expect: exception | limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=67108864
"""A file that was deleted while open takes room, but no walk through the directory finds it."""

import os
import time

held = []
for number in range(24):
    path = "gone-%d" % number
    file = open(path, "wb", buffering=0)
    os.unlink(path)
    file.write(b"x" * 1000000)
    held.append(file)
time.sleep(context["hold"])
result = sum(os.fstat(file.fileno()).st_size for file in held)
