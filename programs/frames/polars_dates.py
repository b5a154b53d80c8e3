# title: monthly totals in polars
# packages: polars
# expect: ok
# check: result == {"2024-01-01": 3, "2024-02-01": 3}
from datetime import date
import polars as pl

df = pl.DataFrame({"day": [date(2024, 1, 5), date(2024, 1, 9), date(2024, 2, 1)], "n": [1, 2, 3]})
out = df.sort("day").group_by_dynamic("day", every="1mo").agg(pl.col("n").sum())
result = {str(day): n for day, n in out.rows()}
