# title: frames and numbers in one dict
# packages: pandas
# expect: ok
# check: result == {"rows": 2, "table": [{"a": 1}, {"a": 2}]}
import pandas as pd

df = pd.DataFrame({"a": [1, 2]})
result = {"rows": len(df), "table": df}
