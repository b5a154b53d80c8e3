# id: NBR-11-a
# title: opens four thousand files and pipes
# walls: full nested
# first: rlimits
# second: none
# expect: limit wall_ms
# limits: wall_ms=500 open_files=4096
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""The engine and the host have numbers for only so many."""

import os
import time

held = []
try:
    while True:
        held.append(os.open(os.__file__, os.O_RDONLY))
        held.extend(os.pipe())
except OSError:
    pass
time.sleep(5)
