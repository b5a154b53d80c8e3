# title: an integer of numpy
# packages: numpy
# expect: ok
# check: result == 3
import numpy as np

result = np.array([1, 2]).sum()
