# title: an exception as the result
# expect: ok
try:
    int("x")
except ValueError as error:
    result = error
