# title: keeps the text of an exception
# expect: ok
# check: "ZeroDivisionError" in result
import traceback

try:
    1 / 0
except ZeroDivisionError:
    result = traceback.format_exc()
