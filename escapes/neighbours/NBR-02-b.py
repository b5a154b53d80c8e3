# id: NBR-02-b
# title: answers with a mebibyte of escapes
# walls: full nested
# first: frames
# second: engine clock
# expect: ok | limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each is a pair of surrogates that must be checked."""

import os
import time

body = b'{"done":{"result":"' + b"\\ud83d\\ude00" * 87000 + b'"}}'
frame = len(body).to_bytes(4, "big") + body
while frame:
    frame = frame[os.write(4, frame) :]
time.sleep(5)
