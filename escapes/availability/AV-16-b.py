# id: AV-16-b
# title: floods standard error below Python's own buffers
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit printed_bytes
# limits: printed_bytes=50000
# control: raised printed_bytes=4000000
"""The other stream, written to by system calls, from two threads at once."""

import os
import threading


def flood():
    for _ in range(500):
        os.write(2, b"x" * 1000)


other = threading.Thread(target=flood)
other.start()
flood()
other.join()
result = "a million"
