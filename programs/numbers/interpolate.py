# title: a smooth curve through points
# packages: scipy numpy
# expect: ok
# check: abs(result - 0.4794) < 0.05
import numpy as np
from scipy.interpolate import CubicSpline

x = np.arange(10)
result = float(CubicSpline(x, np.sin(x))(0.5))
