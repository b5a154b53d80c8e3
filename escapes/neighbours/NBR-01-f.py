# id: NBR-01-f
# title: makes refused calls from eight threads
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 denials=1000000000
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Eight announcements wait at any moment."""

import ctypes
import threading

libc = ctypes.CDLL(None, use_errno=True)


def knock():
    while True:
        libc.socket(2, 1, 0)


for _ in range(7):
    threading.Thread(target=knock, daemon=True).start()
knock()
