# title: a classifier with xgboost
# packages: xgboost numpy
# expect: ok
# check: result > 0.9
import numpy as np
import xgboost as xgb

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 5))
y = (X[:, 0] > 0).astype(int)
model = xgb.XGBClassifier(n_estimators=20).fit(X, y)
result = float((model.predict(X) == y).mean())
