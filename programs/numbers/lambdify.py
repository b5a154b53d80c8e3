# title: a formula as a function of arrays
# packages: sympy numpy
# expect: ok
# check: result == [0.0, 1.0, 4.0]
# agent: refuse
import numpy as np
import sympy as sp

x = sp.symbols("x")
f = sp.lambdify(x, x**2, "numpy")
result = f(np.array([0.0, 1.0, 2.0])).tolist()
