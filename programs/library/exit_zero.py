# title: leaves with the code 0
# expect: ok
# check: "done" in stdout
import sys

print("done")
sys.exit(0)
