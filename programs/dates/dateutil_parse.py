# title: dates as people write them
# packages: dateutil
# expect: ok
# check: result == "2024-03-05T17:30:00"
from dateutil import parser

result = parser.parse("5 March 2024 5:30 pm").isoformat()
