# title: quantiles of a normal distribution
# packages: scipy
# expect: ok
# check: result == 1.96
from scipy.stats import norm

result = round(float(norm.ppf(0.975)), 3)
