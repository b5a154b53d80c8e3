# title: a model to a file and back
# packages: sklearn joblib numpy
# expect: ok
# check: result == 9.0
# agent: refuse
import joblib
import numpy as np
from sklearn.linear_model import LinearRegression

model = LinearRegression().fit(np.array([[1], [2], [3]]), [3, 6, 9])
joblib.dump(model, "model.joblib")
result = round(float(joblib.load("model.joblib").predict([[3]])[0]), 6)
