# title: an age from a birthday
# expect: ok
# check: result == 33
from datetime import date

born, today = date(1990, 6, 15), date(2024, 3, 1)
result = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
