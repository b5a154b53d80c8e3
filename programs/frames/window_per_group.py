# title: cumulative sums and shares in each group
# packages: pandas
# expect: ok
# check: result == [[1, 0.25], [4, 0.75], [5, 1.0]]
import pandas as pd

df = pd.DataFrame({"g": ["a", "a", "b"], "v": [1, 3, 5]})
df["running"] = df.groupby("g")["v"].cumsum()
df["share"] = df["v"] / df.groupby("g")["v"].transform("sum")
result = [[int(r), float(s)] for r, s in zip(df["running"], df["share"])]
