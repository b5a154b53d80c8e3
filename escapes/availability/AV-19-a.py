# id: AV-19-a
# title: prints a little now and then to seem alive
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A deadline that starts anew with each sign of life never comes."""

import time

for _ in range(int(context["hold"] * 100)):
    print(".", end="", flush=True)
    time.sleep(0.01)
result = "alive"
