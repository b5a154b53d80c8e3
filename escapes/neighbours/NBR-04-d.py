# id: NBR-04-d
# title: leaves 990 files and directories, again and again
# walls: full nested
# first: engine measure
# second: engine clock
# expect: ok | limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""They are listed for the outcome, and in nested walls removed from the disk."""

import os

for number in range(90):
    os.mkdir(f"d{number}")
    for other in range(10):
        os.close(os.open(f"d{number}/f{other}", os.O_CREAT | os.O_WRONLY))
result = 1
