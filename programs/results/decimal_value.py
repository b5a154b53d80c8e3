# title: exact money as the result
# expect: ok
# check: float(result) == 3.3
from decimal import Decimal

result = Decimal("1.10") + Decimal("2.20")
