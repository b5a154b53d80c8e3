# id: INT-08-a
# title: leaves a very deep tree of directories
# walls: full nested
# first: memory file system
# second: engine measure
# expect: ok | limit files
# limits: files=12000
# control: none: a deep tree does no harm by itself; what counts is that nothing of it is left
"""A removal that recurses, or that builds whole paths, fails on ten thousand levels."""

import os

for level in range(10000):
    os.mkdir("d")
    os.chdir("d")
open("end", "w").close()
