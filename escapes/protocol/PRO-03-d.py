# id: PRO-03-d
# title: claims two gigabytes, sends ten bytes and waits
# walls: full nested
# first: frames
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=700
# control: none: an answer is only understood by the engine
"""The engine must neither reserve what is claimed nor wait for it longer than for anything."""

import os
import time

os.write(4, (2 << 30).to_bytes(4, "big") + b"0123456789")
time.sleep(20)
