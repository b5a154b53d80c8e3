# id: NBR-04-b
# title: makes and removes files without pause
# walls: full nested
# first: engine measure
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""What is counted changes while it is counted."""

import os

while True:
    for number in range(500):
        os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
    for number in range(500):
        os.unlink(f"f{number}")
