# id: AV-11-b
# title: dies while its children hold every pipe open
# walls: full
# first: pid namespace
# second: kill by pidfd
# expect: crash
# limits: processes=4 wall_ms=30000
# control: none: the program ends itself, so there is no limit to raise
"""Whoever waits for the end of the pipes instead of the end of the process waits for the children.
They sleep for a minute."""

import os
import time

for _ in range(3):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
os._exit(0)
