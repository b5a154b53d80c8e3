# title: removes duplicates and ranks the rest
# packages: pandas
# expect: ok
# check: result == {"a": 2.0, "b": 1.0, "c": 3.0}
import pandas as pd

df = pd.DataFrame({"team": ["a", "a", "b", "c"], "points": [7, 7, 9, 1]})
df = df.drop_duplicates()
df["rank"] = df["points"].rank(ascending=False)
result = dict(zip(df["team"], df["rank"]))
