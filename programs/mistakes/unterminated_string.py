# title: a string without its end
# expect: error SyntaxError
result = "abc
