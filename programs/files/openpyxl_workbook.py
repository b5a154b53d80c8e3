# title: a workbook cell by cell
# packages: openpyxl
# expect: ok
# check: result == [["name", "qty"], ["lamp", 3]]
from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font

wb = Workbook()
ws = wb.active
ws.append(["name", "qty"])
ws.append(["lamp", 3])
ws["A1"].font = Font(bold=True)
wb.save("out.xlsx")
result = [[c.value for c in row] for row in load_workbook("out.xlsx").active.iter_rows()]
