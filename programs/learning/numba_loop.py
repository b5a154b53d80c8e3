# title: a compiled loop
# packages: numba numpy
# expect: ok
# check: result == 332833500.0
import numpy as np
from numba import njit

@njit
def squares(a):
    total = 0.0
    for i in range(a.size):
        total += a[i] * a[i]
    return total

result = float(squares(np.arange(1000.0)))
