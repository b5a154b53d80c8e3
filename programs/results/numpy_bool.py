# title: a truth value of numpy
# packages: numpy
# expect: ok
# check: result is True
import numpy as np

a = np.array([1, 2, 3])
result = (a > 0).all()
