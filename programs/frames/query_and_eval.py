# title: filters with query and computes with eval
# packages: pandas
# expect: ok
# check: result == [12, 20]
import pandas as pd

df = pd.DataFrame({"a": [1, 3, 4, 5], "b": [2, 3, 3, 4]})
df = df.eval("c = a * b")
result = df.query("a > 3 and b >= 3")["c"].tolist()
