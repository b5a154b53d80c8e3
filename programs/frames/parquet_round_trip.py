# title: a frame to Parquet and back
# packages: pandas pyarrow
# expect: ok
# check: result == 499500
import pandas as pd

df = pd.DataFrame({"a": range(1000), "b": [str(i) for i in range(1000)]})
df.to_parquet("table.parquet")
back = pd.read_parquet("table.parquet")
result = int(back["a"].sum())
