# id: NBR-07-d
# title: keeps every processor busy with nine threads
# walls: full nested
# first: engine clock
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Hashing releases the lock of the interpreter, so all of them run at once."""

import hashlib
import threading

block = bytes(1 << 22)


def work():
    while True:
        hashlib.sha256(block)


for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
work()
