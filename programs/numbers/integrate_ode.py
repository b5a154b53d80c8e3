# title: a pendulum over time
# packages: scipy numpy
# expect: ok
# check: result < 0.01
import numpy as np
from scipy.integrate import quad, solve_ivp

area, _ = quad(np.sin, 0, np.pi)
sol = solve_ivp(lambda t, y: [y[1], -y[0]], (0, 2 * np.pi), [1, 0], rtol=1e-6)
result = abs(float(sol.y[0, -1]) - 1) + abs(area - 2)
