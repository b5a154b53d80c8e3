# title: exact money and fractions
# expect: ok
# check: result == ["0.30", "5/6", 0.30000000000000004]
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction

getcontext().prec = 28
total = (Decimal("0.1") + Decimal("0.2")).quantize(Decimal("0.01"), ROUND_HALF_UP)
result = [str(total), str(Fraction(1, 2) + Fraction(1, 3)), 0.1 + 0.2]
