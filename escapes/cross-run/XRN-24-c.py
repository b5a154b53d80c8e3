# id: XRN-24-c
# title: watches free space to see how much a neighbour writes
# walls: full
# first: mount namespace
# second: none
# expect: ok
# control: bare
# mode: together
"""A jar's files lie in memory of its own, so nobody's writing may show in another's numbers."""

import os
import time

time.sleep(0.4)
where = context["folder"] if os.path.isdir(context["folder"]) else "/tmp"
with open(os.path.join(where, "large"), "wb") as large:
    for turn in range(8):
        large.write(os.urandom(1 << 20))
    large.flush()
    time.sleep(0.8)
os.unlink(os.path.join(where, "large"))
# ---
import os
import time

watched = [path for path in (context["folder"], "/tmp", "/jar", "/", "/dev") if os.path.isdir(path)]


def free():
    return [os.statvfs(path).f_bfree * os.statvfs(path).f_bsize for path in watched]


first = free()
until = time.monotonic() + 1.1
while time.monotonic() < until:
    if any(before - now > 4 << 20 for before, now in zip(first, free())):
        result = context["flag"]
    time.sleep(0.05)
