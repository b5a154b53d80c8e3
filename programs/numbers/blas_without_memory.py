# title: a matrix product for which there is no memory
# packages: numpy
# limits: memory_bytes=67108864
# expect: crash
# says: memory ran out
# outside: no
import numpy as np

a = np.random.rand(1000, 1000)
result = float((a @ a).sum())
