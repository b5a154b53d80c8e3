# id: NBR-04-c
# title: writes to a file and waits for the disk without pause
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""In nested walls the file is on a disk that all share."""

import os

file = os.open("synced", os.O_CREAT | os.O_WRONLY)
while True:
    os.pwrite(file, os.urandom(65536), 0)
    os.fsync(file)
