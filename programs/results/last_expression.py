# title: an expression at the end is the result
# expect: ok
# check: result == 42
x = 40
x + 2
