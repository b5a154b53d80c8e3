# title: a classifier with lightgbm
# packages: lightgbm numpy
# expect: ok
# check: result > 0.9
import lightgbm as lgb
import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 5))
y = (X[:, 0] > 0).astype(int)
model = lgb.LGBMClassifier(n_estimators=20, verbose=-1).fit(X, y)
result = float((model.predict(X) == y).mean())
