# id: NBR-04-a
# title: makes 990 directories and sleeps, from four callers
# walls: full nested
# first: engine measure
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
# at once: 4
"""Where files are counted, each directory is opened for it."""

import os
import time

for number in range(990):
    os.mkdir(f"d{number}")
time.sleep(5)
