# id: AV-02-a
# title: computes one number so large that a single call into C takes long
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""No bytecode boundary is reached while the number is computed, so nothing inside the interpreter
could interrupt it. Only a kill from outside can."""

number = 3 ** 5_000_000
result = number.bit_length()
