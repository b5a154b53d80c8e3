# title: from polars to pandas
# packages: polars pandas pyarrow
# expect: ok
# check: result == [1, 2]
import polars as pl

result = pl.DataFrame({"a": [1, 2]}).to_pandas()["a"].tolist()
