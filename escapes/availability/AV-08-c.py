# id: AV-08-c
# title: collects very many small pieces of memory
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=33554432
# control: raised memory_bytes=268435456
"""No single piece is large enough to be noticed; only the sum is."""

pieces = [bytes(1000 + number % 24) for number in range(60_000)]
result = len(pieces)
