# id: INT-11-f
# title: fills files that were never given a name
# walls: full
# first: memory file system
# second: engine measure
# expect: ok | exception | limit file_bytes
# limits: file_bytes=1048576
# control: none: what counts is the sum, and it is told only if it passes the limit
"""The same with files that are opened without a name from the start."""

import os
import tempfile
import time

total = 0
held = []
for root in (os.getcwd(), tempfile.gettempdir()):
    for number in range(12):
        try:
            fd = os.open(root, os.O_TMPFILE | os.O_RDWR, 0o600)
            held.append(fd)
            total += os.write(fd, b"x" * 1000000)
        except OSError:
            pass
time.sleep(0.3)
result = context["flag"] if total > 2 * 1048576 else total
