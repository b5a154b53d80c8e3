# title: statistics of a series in a dict
# packages: pandas
# expect: ok
# check: result == {"mean": 2.3333333333333335, "n": 3, "max": 3.0, "argmax": 2}
import pandas as pd

s = pd.Series([1.5, 2.5, 3.0])
result = {"mean": s.mean(), "n": s.count(), "max": s.max(), "argmax": s.idxmax()}
