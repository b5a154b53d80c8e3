# id: NBR-02-a
# title: answers with a mebibyte of numbers that are hard to read
# walls: full nested
# first: frames
# second: engine clock
# expect: ok | limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Near the largest double an exact parse takes its slow path."""

import os
import time

numbers = b",".join([b"179769313486231580793728971405303415e273"] * 25000)
body = b'{"done":{"result":[' + numbers + b"]}}"
frame = len(body).to_bytes(4, "big") + body
while frame:
    frame = frame[os.write(4, frame) :]
time.sleep(5)
