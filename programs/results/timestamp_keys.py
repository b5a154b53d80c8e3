# title: stamps as keys
# packages: pandas
# expect: ok
# check: list(result.values()) == [1, 2] and list(result)[0].startswith("2024-01-01")
import pandas as pd

s = pd.Series([1, 2], index=pd.date_range("2024-01-01", periods=2))
result = s.to_dict()
