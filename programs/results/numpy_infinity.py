# title: a division by zero in numpy
# packages: numpy
# expect: ok
# check: "ratio" in result
import numpy as np

result = {"ratio": np.float64(1.0) / np.float64(0.0)}
