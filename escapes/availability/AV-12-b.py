# id: AV-12-b
# title: leaves orphans whose parents have ended before them
# walls: full
# first: pid namespace
# second: kill by pidfd
# expect: ok
# limits: processes=40 wall_ms=30000
# control: none: that no orphan lives on is looked for from outside after the run
"""Orphans fall to the first process of the namespace, which here is the hostile program itself and
cares for none of them, the living and the dead."""

import os
import time

for number in range(15):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(60 if number % 2 else 0)
        os._exit(0)
time.sleep(0.05)
result = "thirty lost"
