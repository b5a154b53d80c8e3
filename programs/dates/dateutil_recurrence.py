# title: every second Friday
# packages: dateutil
# expect: ok
# check: result == ["2024-01-05", "2024-01-19", "2024-02-02"]
from datetime import datetime
from dateutil.relativedelta import relativedelta
from dateutil.rrule import FR, WEEKLY, rrule

start = datetime(2024, 1, 1)
assert start + relativedelta(months=+1, day=31) == datetime(2024, 2, 29)
result = [d.date().isoformat() for d in rrule(WEEKLY, interval=2, byweekday=FR, dtstart=start, count=3)]
