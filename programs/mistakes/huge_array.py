# title: an array that does not fit
# packages: numpy
# expect: limit memory_bytes
# says: smaller
import numpy as np

result = float(np.ones((40_000, 40_000)).sum())
