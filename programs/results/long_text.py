# title: a text of 500,000 characters
# expect: ok
# check: len(result) == 500000
result = "x" * 500_000
