# title: classes with properties and operators
# expect: ok
# check: result == [25.0, "Vec(4, 6)", True]
class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    @property
    def squared(self):
        return float(self.x**2 + self.y**2)

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    def __repr__(self):
        return f"Vec({self.x}, {self.y})"

result = [Vec(3, 4).squared, repr(Vec(1, 2) + Vec(3, 4)), Vec(1, 1) == Vec(1, 1)]
