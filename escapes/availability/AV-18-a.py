# id: AV-18-a
# title: fills both streams in turns
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit printed_bytes
# limits: printed_bytes=400000
# control: raised printed_bytes=8000000
"""A reader that waits for one stream while the other is full waits for ever."""

import os

for size in (1, 70_000, 1, 200_000, 3, 300_000):
    os.write(1, b"o" * size)
    os.write(2, b"e" * size)
result = "both"
