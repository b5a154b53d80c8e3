# title: pi by random points
# packages: numpy
# expect: ok
# check: abs(result - 3.14159) < 0.02
import numpy as np

rng = np.random.default_rng(12)
xy = rng.random((1_000_000, 2))
result = float(4 * ((xy**2).sum(axis=1) < 1).mean())
