# id: PRO-14-c
# title: closes every pipe and goes on
# walls: full nested
# first: engine measure
# second: engine clock
# expect: crash
# limits: wall_ms=10000
# control: none: the pipes of an answer exist only in a jar
"""A jar that nobody can hear any more is ended before its time."""

import os
import time

for fd in range(5):
    os.close(fd)
time.sleep(20)
# ---
import os
import time

# Closed in the middle of an answer.
os.write(4, b"\0\0\0\x40{")
os.close(4)
time.sleep(20)
