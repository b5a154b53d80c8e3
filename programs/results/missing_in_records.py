# title: records with missing values
# packages: pandas
# expect: ok
# check: result[0] == {"a": 1.0, "b": "x"} and len(result) == 2
import pandas as pd

df = pd.DataFrame({"a": [1.0, None], "b": ["x", None]})
result = df.to_dict("records")
