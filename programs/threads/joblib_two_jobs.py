# title: two jobs of joblib
# packages: joblib
# expect: ok
# check: result == [0, 1, 4, 9, 16]
from joblib import Parallel, delayed

result = Parallel(n_jobs=2)(delayed(lambda x: x**2)(i) for i in range(5))
