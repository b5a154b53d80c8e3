# id: INT-11-d
# title: lets a file grow while the run ends
# walls: full nested
# first: memory file system
# second: engine measure
# expect: any
# limits: file_bytes=1048576
# control: none: it is the sum that is limited, and a bare host has none
# repeat: 100
"""Threads write and replace files without end while the result is already on its way."""

import os
import threading


def grow(name):
    while True:
        try:
            with open(name, "ab") as file:
                while file.write(b"x" * 65536):
                    file.flush()
        except OSError:
            try:
                os.replace(name, name + ".old")
            except OSError:
                pass


for number in range(3):
    threading.Thread(target=grow, args=("grow-%d" % number,), daemon=True).start()
result = 1
