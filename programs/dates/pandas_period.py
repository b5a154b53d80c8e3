# title: quarters of a year
# packages: pandas
# expect: ok
# check: result == ["2024Q1", "2024Q3"]
import pandas as pd

result = [str(p) for p in pd.to_datetime(["2024-02-01", "2024-07-31"]).to_period("Q")]
