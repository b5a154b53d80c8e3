# id: XRN-07-a
# title: leaves a descriptor open and searches all numbers for it in the next run
# walls: full nested
# first: fresh fork
# second: descriptors
# expect: ok
# control: bare
"""A jar has five descriptors of its own. Anything beyond them would come from another run."""

import os

mark = b"pipe-%d" % context["number"]
reader, writer = os.pipe()
os.write(writer, mark)
try:
    os.dup2(reader, 50)
except OSError:
    pass
# ---
import os

mark = b"pipe-%d" % context["number"]
for fd in range(5, 1024):
    try:
        os.set_blocking(fd, False)
        if os.read(fd, 4096).startswith(mark):
            result = context["flag"]
    except OSError:
        pass
