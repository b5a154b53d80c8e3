# title: a frame of polars
# packages: polars
# expect: ok
# check: result == [{"a": 1}, {"a": 2}]
import polars as pl

result = pl.DataFrame({"a": [1, 2]})
