# id: AV-02-d
# title: reads a number with very many digits
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""Reading decimal digits takes quadratic time. The interpreter's own guard against it is taken
away first, as hostile code would."""

import sys

if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)
result = int("9" * 330_000).bit_length()
