# id: INT-35-c
# title: makes the descriptors it shares with the engine non-blocking
# walls: full nested
# first: descriptors
# second: none
# expect: ok
# control: bare
"""The blocking mode belongs to the open file, not to the descriptor. If the engine or another run
shared it, they would find their ends changed."""

import fcntl
import os

before = {}
try:
    open(context["secret_file"]).close()
    bare = True
except OSError:
    bare = False
for fd in range(3 if bare else 12):
    try:
        before[fd] = fcntl.fcntl(fd, fcntl.F_GETFL)
        fcntl.fcntl(fd, fcntl.F_SETFL, before[fd] | os.O_NONBLOCK | os.O_APPEND)
    except OSError:
        pass
print("still here")
# ---
import fcntl
import os

result = None
for fd in range(3):
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    if flags & os.O_NONBLOCK:
        result = context["flag"]
        fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
