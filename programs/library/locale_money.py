# title: money in the user's locale
# expect: ok
# check: "1234" in result or "1,234" in result
import locale

locale.setlocale(locale.LC_ALL, "C.UTF-8")
result = locale.format_string("%.2f", 1234.5, grouping=True)
