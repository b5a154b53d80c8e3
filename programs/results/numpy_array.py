# title: an array as the result
# packages: numpy
# expect: ok
# check: result == [[0, 1, 2], [3, 4, 5]]
import numpy as np

result = np.arange(6).reshape(2, 3)
