# title: raises an error with a cause
# expect: error ValueError
try:
    int("x")
except ValueError as error:
    raise ValueError("no number") from error
