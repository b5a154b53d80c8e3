# title: neither prints nor has a result
# expect: ok
# check: result is None
x = 5
