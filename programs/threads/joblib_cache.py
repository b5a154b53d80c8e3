# title: values kept in files by joblib
# packages: joblib
# expect: ok
# check: result == {"a": 1}
# agent: refuse
from joblib import dump, load

dump({"a": 1}, "m.joblib")
result = load("m.joblib")
