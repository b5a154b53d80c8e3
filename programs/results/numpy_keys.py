# title: numbers of numpy as keys
# packages: numpy
# expect: ok
# check: result == {"1": 2, "3": 1}
import numpy as np

values, counts = np.unique([1, 1, 3], return_counts=True)
result = dict(zip(values, counts))
