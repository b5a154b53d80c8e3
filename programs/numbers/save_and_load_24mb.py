# title: an array of 24 MB to a file and back
# packages: numpy
# expect: ok
# check: result == 24000000
import numpy as np

np.save("big.npy", np.zeros(3_000_000))
result = np.load("big.npy").nbytes
