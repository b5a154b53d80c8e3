# id: PRO-14-a
# title: leaves the result pipe open in a child and exits
# walls: full
# first: engine measure
# second: pid namespace
# expect: crash
# limits: processes=1 wall_ms=10000
# control: none: the pipe of an answer exists only in a jar
"""The engine must see the end of the jar and not wait for the end of the pipe."""

import os
import time

if os.fork() == 0:
    time.sleep(20)
    os._exit(0)
os._exit(0)
