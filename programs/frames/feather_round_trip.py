# title: a frame to Feather and back
# packages: pandas pyarrow
# expect: ok
# check: result == [1, 2, 3]
import pandas as pd

pd.DataFrame({"n": [1, 2, 3]}).to_feather("f.feather")
result = pd.read_feather("f.feather")["n"].tolist()
