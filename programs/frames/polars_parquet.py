# title: Parquet with polars
# packages: polars
# expect: ok
# check: result == 3
import polars as pl

pl.DataFrame({"a": [1, 2, 3]}).write_parquet("p.parquet")
result = pl.read_parquet("p.parquet").height
