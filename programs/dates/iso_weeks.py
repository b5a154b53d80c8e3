# title: weeks and timestamps
# expect: ok
# check: result == [1, 1704067200, "2024-W01-1"]
from datetime import datetime, timezone

d = datetime(2024, 1, 1, tzinfo=timezone.utc)
result = [d.isocalendar().week, int(d.timestamp()), d.strftime("%G-W%V-%u")]
