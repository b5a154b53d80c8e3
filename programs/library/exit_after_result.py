# title: has a result and leaves
# expect: ok
# check: result == 3
import sys

result = 3
sys.exit()
