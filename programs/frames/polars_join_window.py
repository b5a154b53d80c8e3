# title: a join and a window in polars
# packages: polars
# expect: ok
# check: result == [["Ann", 10, 0.25], ["Ann", 30, 0.75], ["Bob", 5, 1.0]]
import polars as pl

people = pl.DataFrame({"id": [1, 2], "name": ["Ann", "Bob"]})
sales = pl.DataFrame({"id": [1, 1, 2], "amount": [10, 30, 5]})
out = sales.join(people, on="id").with_columns(
    (pl.col("amount") / pl.col("amount").sum().over("name")).alias("share")
).sort("name", "amount")
result = [list(row) for row in out.select("name", "amount", "share").rows()]
