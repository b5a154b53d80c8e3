# title: a frame as the result
# packages: pandas
# expect: ok
# check: result == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
import pandas as pd

df = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
result = df
