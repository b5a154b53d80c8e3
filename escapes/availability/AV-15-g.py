# id: AV-15-g
# title: writes to files that have no name any more
# walls: full
# first: memory file system
# second: engine measure
# expect: limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""A file that is deleted while it is open takes its space and is found in no directory."""

import os
import time

held = []
for number in range(20):
    part = open(f"part{number}", "wb", buffering=0)
    os.unlink(f"part{number}")
    part.write(bytes(500_000))
    held.append(part)
time.sleep(context["hold"])
result = len(held)
