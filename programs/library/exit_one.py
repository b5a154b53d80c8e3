# title: leaves with an error
# expect: error SystemExit
import sys

sys.exit("no data")
