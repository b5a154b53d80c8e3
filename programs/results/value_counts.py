# title: counts of values as the result
# packages: pandas
# expect: ok
# check: result in ({"x": 2, "y": 1}, [2, 1])
import pandas as pd

result = pd.Series(["x", "y", "x"]).value_counts()
