# id: AV-36-a
# title: makes refused calls as fast as it can
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit denials
# denies: socket
# limits: denials=200
# control: raised denials=100000
"""Each refused call is work for the engine and an entry in its books."""

import socket

for _ in range(2_000):
    try:
        socket.socket()
    except OSError:
        pass
result = "two thousand"
