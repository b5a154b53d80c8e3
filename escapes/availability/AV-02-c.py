# id: AV-02-c
# title: adds up a long range inside one call
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""One built-in function consumes an iterator written in C: the interpreter's loop is never seen."""

result = sum(range(60_000_000))
