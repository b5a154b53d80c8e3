# id: AV-05-a
# title: sets its result and then loops in a function that is called at exit
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# expect session: ok
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A result counts only when the run has come to its end. What is done after the last line is
within the limits too. A session goes on after its last line, so nothing is called at an exit there: its clock
ends with the answer, and the functions never run."""

import atexit
import time


@atexit.register
def linger():
    end = time.monotonic() + context["hold"]
    while time.monotonic() < end:
        pass


result = "ready long ago"
