# title: a workbook with a chart, and a document with a table and a picture
# packages: pandas openpyxl xlsxwriter docx matplotlib
# expect: ok
# check: result['sheets'] == ['Data', 'Summary'] and result['rows'] == 6
# check: {'out/report.xlsx', 'out/fancy.xlsx', 'out/report.docx', 'out/chart.png'} <= set(files)
import datetime as dt
from pathlib import Path
import matplotlib.pyplot as plt
import pandas as pd
from docx import Document
from docx.shared import Inches
from openpyxl import load_workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font, PatternFill

out = Path("out"); out.mkdir(exist_ok=True)
df = pd.DataFrame({"month": pd.date_range("2024-01-01", periods=6, freq="MS"), "sales": [10, 12, 9, 15, 18, 21], "cost": [7, 8, 8, 9, 11, 12]})
df["margin"] = (df.sales - df.cost) / df.sales
with pd.ExcelWriter(out / "report.xlsx", engine="openpyxl") as w:
    df.to_excel(w, sheet_name="Data", index=False)
    df.describe().to_excel(w, sheet_name="Summary")
with pd.ExcelWriter(out / "fancy.xlsx", engine="xlsxwriter") as w:
    df.to_excel(w, sheet_name="Data", index=False)
    w.sheets["Data"].conditional_format("B2:B7", {"type": "data_bar"})
wb = load_workbook(out / "report.xlsx")
ws = wb["Data"]
for cell in ws[1]:
    cell.font = Font(bold=True); cell.fill = PatternFill("solid", fgColor="DDEEFF")
ws["F1"] = "Total"; ws["F2"] = "=SUM(B2:B7)"
chart = BarChart(); chart.add_data(Reference(ws, min_col=2, max_col=3, min_row=1, max_row=7), titles_from_data=True)
ws.add_chart(chart, "H2")
wb.save(out / "report.xlsx")
df.plot(x="month", y=["sales", "cost"], figsize=(5, 3))
plt.savefig(out / "chart.png")
doc = Document()
doc.add_heading("Quarterly report", 0)
doc.add_paragraph(f"Created {dt.date.today():%d %B %Y}.")
table = doc.add_table(rows=1, cols=3); table.style = "Light Grid Accent 1"
for cell, text in zip(table.rows[0].cells, ("Month", "Sales", "Margin")):
    cell.text = text
for row in df.itertuples():
    cells = table.add_row().cells
    cells[0].text, cells[1].text, cells[2].text = f"{row.month:%b %Y}", str(row.sales), f"{row.margin:.0%}"
doc.add_picture(str(out / "chart.png"), width=Inches(4))
doc.save(out / "report.docx")
back = pd.read_excel(out / "report.xlsx", sheet_name=None)
result = {"sheets": list(back), "rows": len(back["Data"]), "paragraphs": len(Document(out / "report.docx").paragraphs), "margin": df["margin"].round(2).tolist()}
