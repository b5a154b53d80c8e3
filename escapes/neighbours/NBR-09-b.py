# id: NBR-09-b
# title: uses up the jars that stand ready, from three callers
# walls: full nested
# first: fresh fork
# second: engine clock
# expect: ok | limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
# at once: 3
"""Each is as short as it can be, and the next comes at once."""

result = 1
