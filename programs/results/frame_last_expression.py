# title: ends with the head of a frame
# packages: pandas
# expect: ok
# check: result == [{"a": 1}, {"a": 2}]
import pandas as pd

df = pd.DataFrame({"a": [1, 2, 3]})
df.head(2)
