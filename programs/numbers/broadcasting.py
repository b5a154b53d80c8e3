# title: distances between all pairs of points
# packages: numpy
# expect: ok
# check: result == [[0.0, 5.0], [5.0, 0.0]]
import numpy as np

p = np.array([[0, 0], [3, 4]])
result = np.sqrt(((p[:, None] - p[None]) ** 2).sum(-1)).tolist()
