# id: NBR-09-a
# title: ends in a crash as soon as it can, again and again
# walls: full nested
# first: kill by pidfd
# second: engine clock
# expect: crash | limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each takes a jar that stood ready, and none gives an answer."""

import os

os._exit(1)
