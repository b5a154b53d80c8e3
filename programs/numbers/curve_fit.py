# title: fits an exponential decay
# packages: scipy numpy
# expect: ok
# check: result == [2.5, 1.3]
import numpy as np
from scipy.optimize import curve_fit

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x)
params, _ = curve_fit(lambda x, a, b: a * np.exp(-b * x), x, y)
result = [round(float(p), 3) for p in params]
