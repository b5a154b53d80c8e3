# id: AV-17-b
# title: prints byte by byte
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit printed_bytes
# limits: printed_bytes=10000
# control: raised printed_bytes=1000000
"""Each byte is a read of its own for whoever listens, and may be an entry of its own in a list."""

import os

for _ in range(40_000):
    os.write(1, b"x")
result = "forty thousand writes"
