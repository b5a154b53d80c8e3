# id: AV-10-a
# title: forks in a loop in every child
# walls: full
# first: engine count
# second: pid namespace
# expect: limit processes
# limits: processes=3
# control: raised processes=32
"""Every process that is made goes on making more. The engine grants each one, and stops."""

import os

own = os.getpid()
for _ in range(4):
    os.fork()
if os.getpid() != own:
    os._exit(0)
result = "multiplied"
