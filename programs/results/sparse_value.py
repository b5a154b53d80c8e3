# title: a sparse matrix as the result
# packages: scipy
# expect: ok
from scipy import sparse

result = sparse.eye(3)
