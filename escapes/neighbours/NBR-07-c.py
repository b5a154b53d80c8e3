# id: NBR-07-c
# title: gives the processor away without pause
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""The scheduler is asked each time."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)

while True:
    libc.sched_yield()
