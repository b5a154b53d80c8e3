# title: a lazy query in polars
# packages: polars
# expect: ok
# check: result == [{"g": "a", "v": 4}, {"g": "b", "v": 2}]
import polars as pl

df = pl.DataFrame({"g": ["a", "b", "a"], "v": [1, 2, 3]})
out = df.lazy().group_by("g").agg(pl.col("v").sum()).sort("g").collect()
print(out)
result = out.to_dicts()
