# title: a regression with its summary
# packages: statsmodels numpy
# expect: ok
# check: "OLS Regression Results" in stdout and abs(result[1] - 2) < 0.1
import numpy as np
import statsmodels.api as sm

x = np.arange(50.0)
y = 2 * x + 1 + np.random.default_rng(0).normal(size=50)
model = sm.OLS(y, sm.add_constant(x)).fit()
print(model.summary())
result = [round(float(p), 2) for p in model.params]
