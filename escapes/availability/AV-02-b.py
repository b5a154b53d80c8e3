# id: AV-02-b
# title: matches a regular expression that backtracks for very long
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""The time of this match doubles with each letter, and all of it is spent inside one call."""

import re

result = re.match("(a+)+$", "a" * 24 + "b")
