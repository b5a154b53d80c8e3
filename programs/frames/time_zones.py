# title: stamps from one zone in another
# packages: pandas
# expect: ok
# check: result == ["2024-01-01 14:00:00+09:00", "2024-01-02 14:00:00+09:00"]
import pandas as pd

s = pd.date_range("2024-01-01", periods=2, tz="US/Eastern").tz_convert("Asia/Tokyo")
result = [str(x) for x in s]
