# title: a tree of clusters
# packages: scipy numpy
# expect: ok
# check: result == [1, 1, 2, 2]
from scipy.cluster.hierarchy import fcluster, linkage

groups = fcluster(linkage([[0, 0], [0, 1], [9, 9], [9, 8]], "ward"), 2, "maxclust")
result = groups.tolist()
