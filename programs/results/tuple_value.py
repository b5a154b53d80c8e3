# title: a tuple as the result
# expect: ok
# check: result == [1, "a", [2.5, None]]
result = (1, "a", (2.5, None))
