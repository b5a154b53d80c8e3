# id: AV-09-c
# title: fills the buffers of as many socket pairs as it can open
# walls: full nested
# first: rlimits
# second: seccomp
# expect: limit open_files
# limits: open_files=32
# control: raised open_files=400
"""Each pair can hold some hundred kilobytes of kernel memory. How many there can be is bounded by
the number of descriptors."""

import socket

pairs = []
for _ in range(40):
    left, right = socket.socketpair()
    left.setblocking(False)
    try:
        while True:
            left.send(b"x" * 4096)
    except BlockingIOError:
        pass
    pairs.append((left, right))
result = len(pairs)
