# id: NBR-01-e
# title: makes refused calls without pause
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 denials=1000000000
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each is announced, counted and answered by the engine."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)

while True:
    libc.socket(2, 1, 0)
