# title: a histogram with its counts
# packages: matplotlib numpy
# expect: ok
# check: result == [2, 2, 1] and "hist.png" in files
import matplotlib.pyplot as plt
import numpy as np

counts, edges, _ = plt.hist([1, 1, 2, 2, 3], bins=3)
plt.savefig("hist.png")
plt.close()
result = counts.astype(int).tolist()
