# id: AV-15-b
# title: writes many files that are each within the limit
# walls: full nested
# first: memory file system
# second: engine measure
# expect: limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""A limit of the size of a file says nothing about their sum. Both directories are used."""

import tempfile
import time

for number in range(16):
    with open(f"part{number}", "wb") as part:
        part.write(bytes(100_000))
    with tempfile.NamedTemporaryFile(delete=False) as part:
        part.write(bytes(100_000))
time.sleep(context["hold"])
result = "three megabytes"
