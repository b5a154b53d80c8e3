# title: the description of a frame
# packages: pandas
# expect: ok
# check: result
import pandas as pd

result = pd.DataFrame({"a": [1, 2, 3, 4]}).describe()
