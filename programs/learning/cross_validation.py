# title: five folds of a gradient boosting
# packages: sklearn
# expect: ok
# check: result > 0.9
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

X, y = load_breast_cancer(return_X_y=True)
scores = cross_val_score(HistGradientBoostingClassifier(max_iter=5), X, y, cv=3)
result = float(scores.mean())
