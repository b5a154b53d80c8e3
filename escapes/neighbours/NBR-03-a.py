# id: NBR-03-a
# title: prints a byte at a time on both streams
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 output_bytes=1073741824 printed_bytes=1073741824
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each byte wakes the engine."""

import os

while True:
    os.write(1, b"x")
    os.write(2, b"x")
