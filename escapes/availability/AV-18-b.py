# id: AV-18-b
# title: closes its streams early and goes on
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""The end of the output is not the end of the run. A reader that takes it for that either stops
watching the clock or reads nothing in a loop."""

import os
import time

os.close(0)
os.close(1)
os.close(2)
time.sleep(context["hold"])
result = "silent"
