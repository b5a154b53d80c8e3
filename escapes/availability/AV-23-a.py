# id: AV-23-a
# title: calls itself without end after it has lifted the limit of recursion
# walls: full nested
# first: rlimits
# second: engine measure
# expect: crash | exception | limit memory_bytes
# limits: memory_bytes=12582912
# control: none: without a bound there is no end under any limit
"""What ends it differs between versions of the interpreter: the machine's stack, the memory for
frames, or a guard. It must be one of them, and only this run."""

import sys

sys.setrecursionlimit(2**31 - 1)


def deeper():
    return deeper() + 1


deeper()
