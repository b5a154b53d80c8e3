# title: three clusters
# packages: sklearn numpy
# expect: ok
# check: sum(result) == 300 and len(result) == 3
import numpy as np
from sklearn.cluster import KMeans

X = np.random.default_rng(0).normal(size=(300, 2))
km = KMeans(n_clusters=3, n_init=10, random_state=0).fit(X)
result = sorted(np.bincount(km.labels_).tolist())
