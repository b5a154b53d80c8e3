# title: a workbook with a chart and a formula
# packages: openpyxl
# expect: ok
# check: "chart.xlsx" in files
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference

wb = Workbook()
ws = wb.active
for row in [["month", "n"], ["jan", 3], ["feb", 5]]:
    ws.append(row)
ws["B4"] = "=SUM(B2:B3)"
chart = BarChart()
chart.add_data(Reference(ws, min_col=2, min_row=1, max_row=3), titles_from_data=True)
ws.add_chart(chart, "D2")
wb.save("chart.xlsx")
