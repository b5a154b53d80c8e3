# title: looks at its command line
# expect: ok
# check: result == 1
import sys

result = len(sys.argv)
