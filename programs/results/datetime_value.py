# title: a date with its time
# expect: ok
# check: result == "2024-01-02T03:04:05"
import datetime

result = datetime.datetime(2024, 1, 2, 3, 4, 5)
