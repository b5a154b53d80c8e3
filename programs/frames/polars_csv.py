# title: scans a CSV file with polars
# packages: polars
# expect: ok
# check: result == 6
import polars as pl

pl.DataFrame({"a": [1, 2, 3]}).write_csv("x.csv")
result = pl.scan_csv("x.csv").select(pl.col("a").sum()).collect().item()
