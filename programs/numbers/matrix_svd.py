# title: singular values of a large matrix
# packages: numpy
# expect: ok
# check: result > 100000
import numpy as np

a = np.random.default_rng(0).random((1000, 1000))
result = float(np.linalg.svd(a @ a.T, compute_uv=False)[0])
