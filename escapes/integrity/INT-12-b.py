# id: INT-12-b
# title: leaves hundreds of links to one file, and loops
# walls: full nested
# first: engine measure
# second: memory file system
# expect: ok
# control: none: nobody collects anything on a bare host
"""A collector that follows links reads one file hundreds of times, and a loop without end."""

import os

open("big.bin", "wb").write(b"x" * 1000000)
for number in range(200):
    os.symlink("big.bin", "link-%d" % number)
path = "."
for number in range(20):
    path = os.path.join(path, "d")
    os.mkdir(path)
    for name in ("up", "top"):
        os.symlink(".." if name == "up" else "../" * (number + 1), os.path.join(path, name))
