# id: AV-19-c
# title: sends its answer byte by byte
# walls: full nested
# first: engine clock
# second: frames
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A frame that has begun and does not come to its end. Whoever waits for the rest of it must not
forget the clock."""

import os
import time

body = b'{"done":{"result":"slow"}}'
for byte in len(body).to_bytes(4, "big") + body:
    os.write(4, bytes([byte]))
    time.sleep(0.014)
time.sleep(10)
