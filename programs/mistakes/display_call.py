# title: display() of a notebook
# packages: pandas
# expect: error NameError
# says: print
import pandas as pd

df = pd.DataFrame({"a": [1]})
display(df)
