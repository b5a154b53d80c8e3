# title: an integral in symbols
# packages: sympy
# expect: ok
# check: "e^{x}" in result
from sympy import exp, integrate, latex, sin, symbols

x = symbols("x")
expr = integrate(exp(x) * sin(x), x)
print(expr)
result = latex(expr)
