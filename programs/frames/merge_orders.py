# title: joins customers with orders and keeps those without any
# packages: pandas
# expect: ok
# check: result == [["Ann", 2, 30.0], ["Bob", 1, 5.5], ["Cleo", 0, 0.0]]
import pandas as pd

customers = pd.DataFrame({"id": [1, 2, 3], "name": ["Ann", "Bob", "Cleo"]})
orders = pd.DataFrame({"customer": [1, 1, 2], "amount": [10.0, 20.0, 5.5]})

merged = customers.merge(orders, left_on="id", right_on="customer", how="left")
summary = (
    merged.groupby("name")
    .agg(orders=("amount", "count"), total=("amount", "sum"))
    .reset_index()
)
result = summary.values.tolist()
