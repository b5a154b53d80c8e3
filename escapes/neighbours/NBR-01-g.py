# id: NBR-01-g
# title: asks for child processes without pause
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 denials=1000000000
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each is refused by the engine."""

import os

while True:
    try:
        os.fork()
    except OSError:
        pass
