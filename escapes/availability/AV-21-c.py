# id: AV-21-c
# title: answers with an object that takes its time when it is written
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""The encoder asks a dictionary for its items, and that is the guest's own method: code that runs
when the program seems to be over."""

import time


class Slow(dict):
    def items(self):
        end = time.monotonic() + context["hold"]
        while time.monotonic() < end:
            pass
        return [("at", "last")]


result = Slow(a=1)
