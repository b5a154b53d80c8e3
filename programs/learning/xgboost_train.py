# title: boosting rounds with a matrix of its own
# packages: xgboost numpy
# expect: ok
# check: result < 0.5
import numpy as np
import xgboost as xgb

rng = np.random.default_rng(1)
X = rng.random((200, 3))
y = X @ [1.0, 2.0, 3.0]
dtrain = xgb.DMatrix(X, label=y)
booster = xgb.train({"max_depth": 3, "eta": 0.3}, dtrain, num_boost_round=20)
result = float(np.abs(booster.predict(dtrain) - y).mean())
