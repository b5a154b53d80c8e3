# title: a workbook with formats
# packages: xlsxwriter
# expect: ok
# check: "report.xlsx" in files
import xlsxwriter

book = xlsxwriter.Workbook("report.xlsx")
sheet = book.add_worksheet("sales")
money = book.add_format({"num_format": "#,##0.00", "bold": True})
for row, value in enumerate([1234.5, 99.9]):
    sheet.write(row, 0, value, money)
book.close()
