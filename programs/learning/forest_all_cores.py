# title: a random forest on all cores
# packages: sklearn
# expect: ok
# check: result > 0.8
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, y = make_classification(n_samples=500, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
clf = RandomForestClassifier(n_estimators=50, n_jobs=-1, random_state=0).fit(X_train, y_train)
result = float(clf.score(X_test, y_test))
