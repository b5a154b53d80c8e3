# id: INT-38-b
# title: leaves sparse files of terabytes, and one that a thread makes longer until the end
# walls: full nested
# first: rlimits
# second: engine measure
# expect: ok
# repeat: 3
# control: none: nobody collects anything on a bare host
"""A hole costs the guest nothing, and whoever reads it hours."""

import threading

for number in range(200):
    with open("hole%03d" % number, "wb") as file:
        for size in (10 << 40, 1 << 40, 1 << 33, 8 << 20):
            try:
                file.truncate(size)
                break
            except OSError:
                pass


def grow():
    with open("grows", "wb") as file:
        while file.tell() < 4 << 20:
            file.write(b"x")
            file.flush()


threading.Thread(target=grow, daemon=True).start()
