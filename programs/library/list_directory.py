# title: what is in the current directory
# expect: ok
# check: result == []
import os

result = [name for name in os.listdir(".") if not name.startswith(".")]
