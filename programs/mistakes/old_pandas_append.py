# title: a method that pandas no longer has
# packages: pandas
# expect: error AttributeError
import pandas as pd

df = pd.DataFrame({"a": [1]})
df = df.append({"a": 2}, ignore_index=True)
result = len(df)
