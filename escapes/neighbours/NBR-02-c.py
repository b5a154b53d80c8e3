# id: NBR-02-c
# title: sends its answer a byte at a time
# walls: full nested
# first: frames
# second: engine clock
# expect: limit wall_ms | crash
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each byte wakes the engine, and no frame is ever complete."""

import os

os.write(4, (1 << 19).to_bytes(4, "big") + b'"')
while True:
    os.write(4, b"x")
