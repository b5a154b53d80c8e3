# id: PRO-14-b
# title: never answers, or answers a byte at a time without end
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=800
# control: none: the pipe of an answer exists only in a jar
"""Bytes that drip must not move the deadline."""

import time

time.sleep(20)
# ---
import os
import time

body = b'{"done":{"result":"' + b"x" * 1000 + b'"}}'
for byte in len(body).to_bytes(4, "big") + body:
    os.write(4, bytes([byte]))
    time.sleep(0.05)
