# title: noon in New York, seen from Berlin
# expect: ok
# check: result == "2024-07-01T18:00:00+02:00"
from datetime import datetime
from zoneinfo import ZoneInfo

dt = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("America/New_York"))
result = dt.astimezone(ZoneInfo("Europe/Berlin")).isoformat()
