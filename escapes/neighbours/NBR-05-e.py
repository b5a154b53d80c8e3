# id: NBR-05-e
# title: fills as many pipes as it can open, from four callers
# walls: full nested
# first: rlimits
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
# at once: 4
"""The pages of pipes are counted for a user, and all jars are one."""

import os
import time

held = []
try:
    while True:
        read, write = os.pipe()
        held.append((read, write))
        os.set_blocking(write, False)
        try:
            while True:
                os.write(write, b"x" * 4096)
        except BlockingIOError:
            pass
except OSError:
    pass
time.sleep(5)
