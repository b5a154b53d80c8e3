# id: PRO-15-b
# title: turns the size, the owner and the signal of the result pipe
# walls: full nested
# first: seccomp
# second: frames
# expect: ok
# denies: fcntl
# control: none: the pipe of an answer exists only in a jar
"""A pipe that is made small, or that sends signals, would change what the engine sees of it."""

import fcntl
import os

for command, value in ((1031, 4096), (1031, 1 << 20), (8, os.getpid()), (10, 9)):
    for fd in (1, 4):
        try:
            fcntl.fcntl(fd, command, value)
            result = context["flag"]
        except OSError:
            pass
fcntl.fcntl(4, fcntl.F_SETFL, fcntl.fcntl(4, fcntl.F_GETFL) | os.O_APPEND)
if "result" not in globals():
    result = "x" * 300_000
