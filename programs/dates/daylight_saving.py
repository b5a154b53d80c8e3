# title: the length of a day when clocks change
# expect: ok
# check: result == 23.0
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

paris = ZoneInfo("Europe/Paris")
start = datetime(2024, 3, 31, tzinfo=paris).astimezone(timezone.utc)
end = datetime(2024, 4, 1, tzinfo=paris).astimezone(timezone.utc)
result = (end - start).total_seconds() / 3600
