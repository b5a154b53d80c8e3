# title: an array in a mapped file
# packages: numpy
# expect: ok
# check: result == 1000.0
# agent: refuse
import numpy as np

m = np.memmap("m.dat", dtype="float64", mode="w+", shape=(1000,))
m[:] = 1
m.flush()
result = float(np.memmap("m.dat", dtype="float64", mode="r").sum())
