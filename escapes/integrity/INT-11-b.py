# id: INT-11-b
# title: leaves many sparse files that together pretend to be huge
# walls: full nested
# first: engine measure
# second: memory file system
# expect: ok | limit file_bytes
# limits: file_bytes=1048576 files=400
# control: none: sparse files do no harm by themselves; what counts is that nobody reads them
"""Each file stays below the limit; their sizes together are hundreds of times above it."""

import os

for number in range(300):
    with open("sparse-%d.bin" % number, "wb") as file:
        file.seek(1048575)
        file.write(b"x") if number == 0 else os.ftruncate(file.fileno(), 1048576)
