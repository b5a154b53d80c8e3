# title: from wide to long and back
# packages: pandas
# expect: ok
# check: result == [["x", "2023", 1], ["y", "2023", 2], ["x", "2024", 3], ["y", "2024", 4]]
import pandas as pd

wide = pd.DataFrame({"id": ["x", "y"], "2023": [1, 2], "2024": [3, 4]})
long = wide.melt(id_vars="id", var_name="year", value_name="n")
back = long.set_index(["id", "year"]).unstack()
assert back.shape == (2, 2)
result = long.values.tolist()
