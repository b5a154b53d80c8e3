# id: NBR-02-d
# title: answers with sixteen mebibytes of empty lists
# walls: full nested
# first: frames
# second: none
# expect: ok | limit wall_ms
# limits: wall_ms=500 result_bytes=16777216
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""As many values as a result can have."""

import os
import time

body = b'{"done":{"result":[' + b"[]," * 5500000 + b"[]]}}"
frame = len(body).to_bytes(4, "big") + body
while frame:
    frame = frame[os.write(4, frame) :]
time.sleep(5)
