# id: NBR-05-d
# title: fills as many socket pairs as it can open
# walls: full nested
# first: rlimits
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""What nobody reads stays in the kernel."""

import socket
import time

held = []
try:
    while True:
        pair = socket.socketpair()
        held.extend(pair)
        for end in pair:
            end.setblocking(False)
            try:
                while True:
                    end.send(b"x" * 4096)
            except BlockingIOError:
                pass
except OSError:
    pass
time.sleep(5)
