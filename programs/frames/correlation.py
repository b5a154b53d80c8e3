# title: a correlation matrix
# packages: pandas numpy
# expect: ok
# check: result == {"a": {"a": 1.0, "b": -1.0}, "b": {"a": -1.0, "b": 1.0}}
import pandas as pd

df = pd.DataFrame({"a": [1, 2, 3, 4], "b": [8, 6, 4, 2]})
result = df.corr().round(6).to_dict()
