# title: solves three equations
# packages: numpy
# expect: ok
# check: result == [2.0, 3.0, -1.0]
import numpy as np

A = np.array([[2, 1, -1], [-3, -1, 2], [-2, 1, 2]])
b = np.array([8, -11, -3])
result = np.linalg.solve(A, b).round(6).tolist()
