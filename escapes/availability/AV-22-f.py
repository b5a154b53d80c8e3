# id: AV-22-f
# title: raises out of very many frames
# walls: full nested
# first: frames
# second: engine clock
# expect: exception
# control: none: it ends as an exception under any limits
"""A traceback has one entry for each frame; every third of them is another function, so that
repeated ones cannot be left out."""

import sys

sys.setrecursionlimit(20_000)


def one(depth):
    return two(depth - 1) if depth else 1 / 0


def two(depth):
    return three(depth - 1) if depth else 1 / 0


def three(depth):
    return one(depth - 1) if depth else 1 / 0


one(9_000)
