# title: an array that is larger than the files may be
# packages: numpy
# limits: file_bytes=1048576
# expect: limit file_bytes
# says: write less
# outside: no
import numpy as np

np.save("big.npy", np.zeros(1_000_000))
result = "saved"
