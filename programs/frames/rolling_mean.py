# title: a moving average over days
# packages: pandas
# expect: ok
# check: result == [2.0, 3.0, 4.0]
import pandas as pd

s = pd.Series([1, 2, 3, 4, 5], index=pd.date_range("2024-01-01", periods=5, freq="D"))
result = s.rolling(3).mean().dropna().tolist()
