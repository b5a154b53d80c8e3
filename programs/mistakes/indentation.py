# title: a line that is not indented
# expect: error IndentationError
# agent: refuse
def f():
return 1
