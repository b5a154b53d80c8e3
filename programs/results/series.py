# title: a series as the result
# packages: pandas
# expect: ok
# check: result in ({"a": 1, "b": 2, "c": 3}, [1, 2, 3])
import pandas as pd

result = pd.Series([1, 2, 3], index=list("abc"))
