# title: joins two PDF files
# packages: reportlab pypdf
# expect: ok
# check: result == 2
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

for name in ("one.pdf", "two.pdf"):
    c = Canvas(name)
    c.drawString(50, 50, name)
    c.save()
writer = PdfWriter()
for name in ("one.pdf", "two.pdf"):
    for page in PdfReader(name).pages:
        writer.add_page(page)
with open("both.pdf", "wb") as out:
    writer.write(out)
result = len(PdfReader("both.pdf").pages)
