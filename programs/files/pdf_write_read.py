# title: writes a PDF and reads its text
# packages: reportlab pypdf
# expect: ok
# check: "Hello" in result
from pypdf import PdfReader
from reportlab.pdfgen import canvas

c = canvas.Canvas("doc.pdf")
c.drawString(100, 750, "Hello")
c.save()
result = PdfReader("doc.pdf").pages[0].extract_text()
