# title: counts errors in a log by hour
# expect: ok
# check: result == {"10": 2, "11": 1}
import re
from collections import Counter

log = """2024-01-01 10:01 ERROR disk
2024-01-01 10:07 INFO ok
2024-01-01 10:30 ERROR disk
2024-01-01 11:00 ERROR net"""
hours = [m[1] for line in log.splitlines() if (m := re.match(r"\S+ (\d\d):\d\d ERROR", line))]
result = dict(Counter(hours))
