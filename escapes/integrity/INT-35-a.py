# id: INT-35-a
# title: writes to every descriptor it holds
# walls: full nested
# first: frames
# second: descriptors
# expect: crash | limit wall_ms
# limits: wall_ms=1000
# control: none: on a bare host it would write to whoever started it
"""Bytes that are no frame, on every descriptor, the ends for reading included. The engine must take
them for data, end the run, and go on."""

import os

for fd in range(64):
    for data in (b"\xff" * 4096, b"\0" * 64, b"{" * 100, b"\x10\0\0\0{}"):
        try:
            if fd not in (1, 2):
                os.write(fd, data)
        except OSError:
            pass
