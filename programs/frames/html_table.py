# title: reads a table out of a page
# packages: pandas lxml
# expect: ok
# check: result == [["Ann", 3], ["Bob", 5]]
from io import StringIO
import pandas as pd

page = "<table><tr><th>name</th><th>n</th></tr><tr><td>Ann</td><td>3</td></tr><tr><td>Bob</td><td>5</td></tr></table>"
result = pd.read_html(StringIO(page))[0].values.tolist()
