# title: writes a workbook with two sheets and reads it back
# packages: pandas openpyxl
# expect: ok
# check: result == {"q1": {"a": [1, 2]}, "q2": {"a": [3]}}
# check: "book.xlsx" in files
import pandas as pd

with pd.ExcelWriter("book.xlsx", engine="openpyxl") as writer:
    pd.DataFrame({"a": [1, 2]}).to_excel(writer, sheet_name="q1", index=False)
    pd.DataFrame({"a": [3]}).to_excel(writer, sheet_name="q2", index=False)

sheets = pd.read_excel("book.xlsx", sheet_name=None)
result = {name: frame.to_dict("list") for name, frame in sheets.items()}
