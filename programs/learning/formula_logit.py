# title: a logistic regression from a formula
# packages: statsmodels pandas numpy
# expect: ok
# check: result > 0
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

rng = np.random.default_rng(0)
df = pd.DataFrame({"x": rng.normal(size=200)})
df["y"] = (df["x"] + rng.normal(size=200) > 0).astype(int)
fit = smf.logit("y ~ x", data=df).fit(disp=False)
result = float(fit.params["x"])
