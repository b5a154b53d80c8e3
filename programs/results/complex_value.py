# title: complex roots
# packages: numpy
# expect: ok
import numpy as np

result = np.roots([1, 0, 1]).tolist()
