# id: PRO-15-g
# title: opens the pipes of other processes by their names
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A pipe of the engine, of its helper or of another jar would be a way into their messages."""

import os

own = os.getpid()
near = {context["pid"], os.getppid(), 1, *range(max(own - 12, 2), own + 4)} - {own}
for pid in near:
    for fd in range(12):
        try:
            os.close(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK))
            result = context["flag"]
        except OSError:
            pass
