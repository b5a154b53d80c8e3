# id: AV-07-b
# title: burns processor time in many children
# walls: full
# first: engine clock
# second: pid namespace
# expect: limit wall_ms
# limits: wall_ms=200 processes=6
# control: raised wall_ms=120000
"""Each process has an allowance of processor time of its own; the clock bounds what they have
together. All of them must be gone when it has run out."""

import os
import time

end = time.monotonic() + context["hold"]
for _ in range(6):
    if os.fork() == 0:
        while time.monotonic() < end:
            pass
        os._exit(0)
while time.monotonic() < end:
    pass
result = "burnt"
