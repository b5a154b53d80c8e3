# title: tuples as keys
# packages: pandas
# expect: ok
# check: sorted(result.values()) == [1, 2, 3]
import pandas as pd

df = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 1], "v": [1, 2, 3]})
result = df.groupby(["a", "b"])["v"].sum().to_dict()
