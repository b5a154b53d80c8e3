# id: AV-15-d
# title: makes a file that is longer than the disk and empty
# walls: full nested
# first: rlimits
# second: memory file system
# expect: limit file_bytes | exception
# limits: file_bytes=1048576
# control: raised file_bytes=4294967296
"""A file with a hole takes no space, but whoever copies it or adds up sizes is misled."""

import os

with open("hole", "wb") as hole:
    os.ftruncate(hole.fileno(), 1 << 30)
    os.pwrite(hole.fileno(), b"x", (1 << 30) - 1)
result = os.stat("hole").st_size
