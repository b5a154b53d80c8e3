# title: a frame to a pickle and back
# packages: pandas
# expect: ok
# check: result == 6
# agent: refuse
import pandas as pd

pd.DataFrame({"a": [1, 2, 3]}).to_pickle("frame.pkl")
result = int(pd.read_pickle("frame.pkl")["a"].sum())
