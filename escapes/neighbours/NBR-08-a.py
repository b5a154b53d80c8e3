# id: NBR-08-a
# title: reads every file of the standard library without pause
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""What it reads takes the place of what others read."""

import os

folder = os.path.dirname(os.__file__)
while True:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                with open(os.path.join(place, name), "rb") as file:
                    file.read()
            except OSError:
                pass
