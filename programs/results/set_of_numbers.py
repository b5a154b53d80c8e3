# title: a set as the result
# expect: ok
# check: sorted(result) == [1, 2, 3]
result = {1, 2, 3}
