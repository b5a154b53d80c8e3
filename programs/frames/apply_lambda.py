# title: a new column from a function of each row
# packages: pandas
# expect: ok
# check: result == ["low", "high", "low"]
import pandas as pd

df = pd.DataFrame({"price": [5, 50, 9], "qty": [1, 2, 3]})
df["revenue"] = df.apply(lambda row: row["price"] * row["qty"], axis=1)
df["band"] = df["revenue"].apply(lambda v: "high" if v > 50 else "low")
result = df["band"].tolist()
