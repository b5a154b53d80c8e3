# title: how many cores there are
# expect: ok
# check: result >= 1
import os

result = os.cpu_count()
