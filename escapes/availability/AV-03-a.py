# id: AV-03-a
# title: sleeps past its time
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A sleeping process uses no processor time, so a limit of that alone would never end it."""

import time

time.sleep(context["hold"])
result = "woke up"
