# id: NBR-05-g
# title: looks for names that do not exist
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""The kernel remembers each of them until it needs the memory."""

import os

folder = os.path.dirname(os.__file__) + "/" + "y" * 200
number = 0
while True:
    number += 1
    os.access(folder + str(number), 0)
