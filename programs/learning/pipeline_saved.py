# title: a pipeline searched on all processors, saved and loaded again
# packages: sklearn pandas joblib
# expect: ok
# check: result['auc'] > 0.9 and result['forest'] > 0.85
# check: result['squares'][9] == 81
# check: 'model.joblib' in files
# agent: refuse
import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(0)
data = load_breast_cancer(as_frame=True)
X = data.data.iloc[:, :8].copy()
X["clinic"] = rng.choice(["a", "b", "c"], len(X))
X.loc[rng.random(len(X)) < 0.05, "mean radius"] = np.nan
y = data.target
numeric = X.select_dtypes("number").columns
pre = ColumnTransformer([
    ("num", Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler())]), numeric),
    ("cat", OneHotEncoder(handle_unknown="ignore"), ["clinic"]),
])
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
search = GridSearchCV(
    Pipeline([("pre", pre), ("model", LogisticRegression(max_iter=500))]),
    {"model__C": [0.1, 1, 10]}, cv=StratifiedKFold(5), n_jobs=-1, verbose=1, scoring="roc_auc")
search.fit(X_train, y_train)
forest = Pipeline([("pre", pre), ("model", RandomForestClassifier(50, n_jobs=-1, random_state=0))])
scores = cross_val_score(forest, X_train, y_train, cv=3, n_jobs=2)
forest.fit(X_train, y_train)
joblib.dump(search.best_estimator_, "model.joblib", compress=3)
again = joblib.load("model.joblib")
print(classification_report(y_test, again.predict(X_test)))
squares = joblib.Parallel(n_jobs=4)(joblib.delayed(pow)(i, 2) for i in range(10))
result = {
    "best": search.best_params_,
    "auc": roc_auc_score(y_test, again.predict_proba(X_test)[:, 1]),
    "forest": scores.mean(),
    "confusion": pd.crosstab(y_test, forest.predict(X_test)),
    "squares": squares,
}
