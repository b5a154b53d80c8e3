# title: a named tuple
# expect: ok
# check: result in ([1, 2], {"x": 1, "y": 2})
from collections import namedtuple

Point = namedtuple("Point", "x y")
result = Point(1, 2)
