# title: a pipeline with scaling, and its report
# packages: sklearn
# expect: ok
# check: "precision" in stdout and result > 0.85
from sklearn.datasets import load_wine
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=1)
model = make_pipeline(StandardScaler(), SVC()).fit(X_train, y_train)
predicted = model.predict(X_test)
print(classification_report(y_test, predicted))
print(confusion_matrix(y_test, predicted))
result = float(accuracy_score(y_test, predicted))
