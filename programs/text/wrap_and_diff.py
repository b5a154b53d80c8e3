# title: wraps text and compares two versions
# expect: ok
# check: result[0] == ["the quick", "brown fox"] and "+two!" in result[1]
import difflib
import textwrap

wrapped = textwrap.wrap("the quick brown fox", 10)
diff = list(difflib.unified_diff(["one", "two"], ["one", "two!"], lineterm=""))
result = [wrapped, diff]
