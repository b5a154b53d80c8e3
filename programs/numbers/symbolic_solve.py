# title: solves equations in symbols
# packages: sympy
# expect: ok
# check: result == ["-3", "2"]
from sympy import Eq, solve, symbols

x = symbols("x")
result = sorted(str(s) for s in solve(Eq(x**2 + x, 6), x))
