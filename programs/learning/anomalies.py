# title: finds outliers with an isolation forest
# packages: sklearn numpy
# expect: ok
# check: result == [200, 201]
import numpy as np
from sklearn.ensemble import IsolationForest

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(200, 2)), [[12, 12], [-11, 10]]])
labels = IsolationForest(contamination=0.01, random_state=0).fit_predict(X)
result = [int(i) for i in np.where(labels == -1)[0] if i >= 200]
