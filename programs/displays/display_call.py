# title: display() of a notebook
# packages: pandas
# expect: ok
# outside: no
# check: [one.media_type for one in displays] == ["text/html"]
# check: "<td>1</td>" in displays[0].html
import pandas as pd

df = pd.DataFrame({"a": [1]})
display(df)
