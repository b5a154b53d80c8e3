# id: NBR-10-a
# title: takes more places than there are and sleeps in them
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
# at once: 12
"""A tenant has half of the places, and waits for more behind itself."""

import time

time.sleep(5)
