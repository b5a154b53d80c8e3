# id: XRN-06-d
# title: watches access times to learn what a neighbour reads
# walls: full
# first: mount namespace
# second: none
# expect: ok
# control: none: whether the host's own mounts keep access times is not ours to say
# mode: together
"""If reading moved the access time of a shared file, every import would leave a trace."""

import os
import time

library = os.path.dirname(os.__file__)
time.sleep(0.4)
for part in ("lib2to3", "idlelib", "turtledemo", "msilib", "distutils", "wsgiref"):
    try:
        for piece in os.scandir(os.path.join(library, part)):
            if piece.is_file():
                open(piece.path, "rb").read(1)
    except OSError:
        pass
# ---
import os
import time

shelf = os.path.dirname(os.__file__)


def times():
    seen = {}
    for part in ("lib2to3", "idlelib", "turtledemo", "msilib", "distutils", "wsgiref"):
        try:
            for entry in os.scandir(os.path.join(shelf, part)):
                seen[entry.path] = os.stat(entry.path).st_atime_ns
        except OSError:
            pass
    return seen


before = times()
time.sleep(1.2)
if times() != before:
    result = context["flag"]
