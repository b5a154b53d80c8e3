# title: a frame to a spreadsheet and back
# packages: pandas openpyxl
# expect: ok
# check: result == {"a": [1, 2]}
import pandas as pd

pd.DataFrame({"a": [1, 2]}).to_excel("report.xlsx", index=False)
result = pd.read_excel("report.xlsx").to_dict("list")
