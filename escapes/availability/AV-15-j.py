# id: AV-15-j
# title: keeps files that are only mapped, neither named nor open
# walls: full
# first: memory file system
# second: engine measure
# expect: limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""A mapping alone holds a file: its name is deleted and its descriptor closed, and still it takes
its space."""

import mmap
import os
import time

held = []
for number in range(20):
    with open(f"part{number}", "w+b") as part:
        part.write(bytes(500_000))
        part.flush()
        held.append(mmap.mmap(part.fileno(), 500_000, prot=mmap.PROT_READ))
    os.unlink(f"part{number}")
time.sleep(context["hold"])
result = len(held)
