# id: AV-23-d
# title: loads text that nests without end with a parser written in C
# walls: full nested
# first: rlimits
# second: fresh fork
# expect: exception | crash
# control: none: what ends it is the machine's stack, whose size is fixed
"""Each byte asks for one more level of the C stack, with the interpreter's guard and without it.
Versions differ in whether the guard can be lifted."""

import json
import sys

try:
    json.loads("[" * 200_000)
except (RecursionError, ValueError):
    pass
sys.setrecursionlimit(2**31 - 1)
json.loads("[" * 500_000)
