# title: a derivative, simplified and evaluated
# packages: sympy
# expect: ok
# check: result == [1.0, "2*x*exp(x**2)"]
from sympy import cos, diff, exp, simplify, symbols

x = symbols("x")
result = [float(cos(x).subs(x, 0)), str(simplify(diff(exp(x**2), x)))]
