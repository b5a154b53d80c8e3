# title: a data class as a dict
# expect: ok
# check: result == {"x": 3, "y": 1.5}
from dataclasses import asdict, dataclass

@dataclass
class Point:
    x: int
    y: float = 1.5

result = asdict(Point(3))
