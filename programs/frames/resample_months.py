# title: daily values to monthly totals
# packages: pandas
# expect: ok
# check: result == {"2024-01": 31, "2024-02": 29, "2024-03": 31}
import pandas as pd

days = pd.date_range("2024-01-01", "2024-03-31", freq="D")
s = pd.Series(1, index=days)
monthly = s.resample("MS").sum()
result = {stamp.strftime("%Y-%m"): int(n) for stamp, n in monthly.items()}
