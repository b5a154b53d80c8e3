# id: INT-10-b
# title: leaves an artifact whose path is longer than a path may be
# walls: full nested
# first: engine measure
# second: memory file system
# expect: ok
# control: none: nobody collects anything on a bare host
"""Forty directories with names of 250 bytes: no single call can name the file at the end."""

import os

for level in range(40):
    os.mkdir("p" * 250)
    os.chdir("p" * 250)
open("end.txt", "w").write("x")
# ---
result = "a second run"
