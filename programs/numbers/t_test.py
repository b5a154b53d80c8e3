# title: compares two samples
# packages: scipy numpy
# expect: ok
# check: 0 <= result["p"] < 0.05
import numpy as np
from scipy import stats

rng = np.random.default_rng(1)
a, b = rng.normal(0, 1, 100), rng.normal(0.5, 1, 100)
t, p = stats.ttest_ind(a, b)
print(f"t={t:.3f} p={p:.4f}")
result = {"t": t, "p": p}
