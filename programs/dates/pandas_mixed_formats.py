# title: a column of dates as text
# packages: pandas
# expect: ok
# check: result == {"February": 1, "January": 1}
import warnings
import pandas as pd

warnings.filterwarnings("ignore")
df = pd.DataFrame({"d": ["2024-01-02", "2024-02-03"]})
df["d"] = pd.to_datetime(df["d"])
df["m"] = df.d.dt.month_name()
result = df.groupby("m").size().to_dict()
