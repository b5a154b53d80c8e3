# title: a month as a calendar
# expect: ok
# check: "February 2024" in result
import calendar

result = calendar.month(2024, 2)
print(result)
