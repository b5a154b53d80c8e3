# id: NBR-03-b
# title: prints as much as it can
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms | limit printed_bytes
# limits: wall_ms=500 output_bytes=8388608 printed_bytes=8388608
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""The engine keeps all of it up to the limit."""

import os

block = b"x" * 65536
while True:
    os.write(1, block)
