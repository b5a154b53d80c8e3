# title: what a misspelt word may have meant
# expect: ok
# check: result == ["apple"]
import difflib

result = difflib.get_close_matches("appel", ["apple", "maple", "desk"], n=1)
