# title: dates, times and durations in a list
# expect: ok
# check: result[0] == "2024-01-02" and len(result) == 3
from datetime import date, time, timedelta

result = [date(2024, 1, 2), time(3, 4), timedelta(hours=1, minutes=30)]
