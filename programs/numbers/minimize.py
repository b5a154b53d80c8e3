# title: the minimum of a function
# packages: scipy numpy
# expect: ok
# check: result == [1.0, 2.5]
from scipy.optimize import minimize

r = minimize(lambda p: (p[0] - 1) ** 2 + (p[1] - 2.5) ** 2, x0=[0, 0])
result = [round(float(v), 3) for v in r.x]
