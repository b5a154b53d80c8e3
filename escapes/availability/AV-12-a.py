# id: AV-12-a
# title: makes children that end and that nobody asks after
# walls: full
# first: engine count
# second: pid namespace
# expect: limit processes
# limits: processes=40
# control: raised processes=200
"""A child that has ended keeps its place in the kernel's table until its parent asks for it. The
parent never does."""

import os

for _ in range(80):
    if os.fork() == 0:
        os._exit(0)
result = "eighty dead children"
