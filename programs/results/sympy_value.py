# title: solutions in symbols
# packages: sympy
# expect: ok
# agent: refuse
from sympy import *

x = symbols("x")
result = solve(x**2 - 2, x)
