# title: the version of Python
# expect: ok
# check: result.startswith("3.")
import sys

print(sys.version)
result = ".".join(map(str, sys.version_info[:3]))
