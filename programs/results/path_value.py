# title: a path as the result
# expect: ok
# check: result == "a/b"
from pathlib import Path

result = Path("a/b")
