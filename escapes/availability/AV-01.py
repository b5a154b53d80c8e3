# id: AV-01
# title: runs in a loop that never calls anything
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A loop of plain bytecode. If nobody looked at the clock from outside, it would hold a core."""

import time

end = time.monotonic() + context["hold"]
while time.monotonic() < end:
    for _ in range(10_000):
        pass
result = "came to its end"
