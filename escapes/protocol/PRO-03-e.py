# id: PRO-03-e
# title: sends a frame that never ends
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit result_bytes
# control: none: an answer is only understood by the engine
"""Bytes that really come are counted, and there are only so many."""

import os

os.write(4, b"\x7f\xff\xff\xff")
while True:
    os.write(4, b"x" * 65536)
