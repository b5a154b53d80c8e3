# id: AV-23-b
# title: compares values that nest so deep that the machine's stack ends
# walls: full nested
# first: rlimits
# second: fresh fork
# expect: crash | exception
# control: none: what ends it is the machine's stack, whose size is fixed
"""The interpreter's own functions call themselves in C for each level."""

import sys

sys.setrecursionlimit(2**31 - 1)
left, right = [], []
for _ in range(250_000):
    left, right = [left], [right]
result = left == right
