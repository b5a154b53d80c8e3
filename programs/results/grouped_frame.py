# title: a frame with an index of several levels
# packages: pandas
# expect: ok
# check: result
import pandas as pd

df = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 1], "v": [1.0, 2.0, 3.0]})
result = df.groupby(["a", "b"]).agg(["mean", "sum"])
