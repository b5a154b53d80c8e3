# title: jobs of joblib that ask for threads
# packages: joblib
# expect: ok
# check: result == [0.0, 1.0, 2.0]
from math import sqrt
from joblib import Parallel, delayed

result = Parallel(n_jobs=2, prefer="threads")(delayed(sqrt)(i * i) for i in range(3))
