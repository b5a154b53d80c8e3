# title: a column that is not in the frame
# packages: pandas
# expect: error KeyError
import pandas as pd

df = pd.DataFrame({"Sales": [1]})

def top(d):
    return d["sales"].max()

result = top(df)
