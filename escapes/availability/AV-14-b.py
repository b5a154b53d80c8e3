# id: AV-14-b
# title: answers while it holds every descriptor that it can get
# walls: full nested
# first: descriptors
# second: rlimits
# expect: ok
# limits: open_files=32
# control: none: the answer itself is what is shown
"""The way of the answer is opened before the code runs, so nothing has to be opened for it."""

import os
import sys

open("file", "w").close()
held = []
try:
    while True:
        held.append(os.open("file", os.O_RDONLY))
except OSError:
    pass
print("still here")
print("here too", file=sys.stderr)
result = len(held)
