# title: an object of a data class
# expect: ok
# check: result == {"x": 3}
from dataclasses import dataclass

@dataclass
class Point:
    x: int

result = Point(3)
