# title: a document with headings and a table
# packages: docx
# expect: ok
# check: result == ["Report", "text"]
from docx import Document

d = Document()
d.add_heading("Report", 0)
d.add_paragraph("text")
table = d.add_table(rows=1, cols=2)
table.rows[0].cells[0].text = "a"
d.save("r.docx")
result = [p.text for p in Document("r.docx").paragraphs]
