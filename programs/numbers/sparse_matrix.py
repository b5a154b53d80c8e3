# title: a sparse system
# packages: scipy numpy
# expect: ok
# check: result == 100
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

A = sparse.diags([np.full(99, -1), np.full(100, 4), np.full(99, -1)], [-1, 0, 1], format="csc")
x = spsolve(A, np.ones(100))
result = int(np.isclose(A @ x, 1).sum())
