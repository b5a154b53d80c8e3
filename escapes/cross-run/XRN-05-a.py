# id: XRN-05-a
# title: signals a neighbour with a lock on a file that both can read
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
# mode: together
"""Whole-file locks need no right to write, so any shared file would carry a bit."""

import fcntl
import os
import time

locked = open(os.__file__)
try:
    fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    pass
time.sleep(1.5)
locked.close()
# ---
import errno
import fcntl
import os
import time

until = time.monotonic() + 1.2
result = None
while time.monotonic() < until and result is None:
    with open(os.__file__) as watched:
        try:
            fcntl.flock(watched, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                result = context["flag"]
    time.sleep(0.1)
