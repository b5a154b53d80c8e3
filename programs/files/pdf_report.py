# title: a report with a table, page by page
# packages: reportlab pypdf
# expect: ok
# check: result >= 2
from pypdf import PdfReader
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table, TableStyle

styles = getSampleStyleSheet()
table = Table([["item", "qty"], ["lamp", "3"]])
table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.grey)]))
doc = SimpleDocTemplate("report.pdf", pagesize=A4)
doc.build([Paragraph("Report", styles["Title"]), table, PageBreak(), Paragraph("End", styles["Normal"])])
result = len(PdfReader("report.pdf").pages)
