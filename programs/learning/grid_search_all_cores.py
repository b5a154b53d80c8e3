# title: a grid search on all cores
# packages: sklearn
# expect: ok
# check: 0.9 < result <= 1
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

X, y = load_iris(return_X_y=True)
grid = GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1, 10]}, cv=3, n_jobs=-1)
grid.fit(X, y)
print(grid.best_params_)
result = round(float(grid.best_score_), 3)
