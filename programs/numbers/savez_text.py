# title: several arrays in one file, and one as text
# packages: numpy
# expect: ok
# check: result == [["a", "b"], [[1.0, 2.0], [3.0, 4.0]]]
import numpy as np

np.savez_compressed("arrays.npz", a=np.arange(3), b=np.eye(2))
np.savetxt("m.csv", [[1, 2], [3, 4]], delimiter=",")
with np.load("arrays.npz") as arrays:
    result = [sorted(arrays.files), np.loadtxt("m.csv", delimiter=",").tolist()]
