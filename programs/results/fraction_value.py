# title: a fraction as the result
# expect: ok
from fractions import Fraction

result = Fraction(1, 3)
