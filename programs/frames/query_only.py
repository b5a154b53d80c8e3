# title: filters rows with query
# packages: pandas
# expect: ok
# check: result == ["pear", "fig"]
import pandas as pd

df = pd.DataFrame({"fruit": ["apple", "pear", "fig"], "price": [1, 3, 4]})
result = df.query("price > 2")["fruit"].tolist()
