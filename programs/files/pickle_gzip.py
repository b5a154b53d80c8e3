# title: a compressed pickle
# expect: ok
# check: result == {"a": [1, 2]}
# agent: refuse
import gzip
import pickle

with gzip.open("x.pkl.gz", "wb") as f:
    pickle.dump({"a": [1, 2]}, f)
with gzip.open("x.pkl.gz") as f:
    result = pickle.load(f)
