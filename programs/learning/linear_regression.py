# title: a straight line through points
# packages: sklearn numpy
# expect: ok
# check: result == {"slope": 3.0, "intercept": 2.0, "r2": 1.0}
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

X = np.arange(10).reshape(-1, 1)
y = 3 * X.ravel() + 2
model = LinearRegression().fit(X, y)
result = {
    "slope": round(float(model.coef_[0]), 6),
    "intercept": round(float(model.intercept_), 6),
    "r2": round(float(r2_score(y, model.predict(X))), 6),
}
