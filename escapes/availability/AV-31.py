# id: AV-31
# title: fills a dictionary with keys that all have the same hash
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""Numbers that are multiples of the modulus of hashing fall into one place, and each new one is
compared with all that are there."""

import sys

modulus = sys.hash_info.modulus
result = len({number * modulus for number in range(1, 12_000)})
