# title: working days of a month
# packages: pandas
# expect: ok
# check: result == 23
import pandas as pd

result = len(pd.bdate_range("2024-07-01", "2024-07-31"))
