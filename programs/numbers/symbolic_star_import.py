# title: everything from sympy at once
# packages: sympy
# expect: ok
# check: result == "x**2 + 2*x + 1"
# agent: refuse
from sympy import *

x = Symbol("x")
result = str(expand((x + 1) ** 2))
