# title: the name of the local zone
# expect: ok
# check: all(isinstance(name, str) and name for name in result)
import time
from datetime import datetime

result = [datetime.now().astimezone().tzname(), time.strftime("%Z")]
