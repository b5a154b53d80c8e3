# id: AV-05-b
# title: sets its result and then loops in a finalizer
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""Finalizers run where nobody expects code to run, and exceptions in them are only printed."""

import gc
import time


class Lingers:
    def __del__(self):
        end = time.monotonic() + context["hold"]
        while time.monotonic() < end:
            try:
                pass
            except BaseException:
                pass


circle = Lingers()
circle.own = circle
result = "ready long ago"
del circle
gc.collect()
