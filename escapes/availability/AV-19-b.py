# id: AV-19-b
# title: makes refused calls now and then to keep the engine in talk
# walls: full nested
# first: engine clock
# second: engine count
# expect: limit wall_ms
# denies: socket
# limits: wall_ms=150
# control: raised wall_ms=120000
"""Each refused call is answered by the engine. If an answer moved the deadline, it would never
come."""

import socket
import time

for _ in range(int(context["hold"] * 100)):
    try:
        socket.socket()
    except OSError:
        pass
    time.sleep(0.01)
result = "talked"
