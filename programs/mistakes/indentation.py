# title: a line that is not indented
# expect: error IndentationError
def f():
return 1
