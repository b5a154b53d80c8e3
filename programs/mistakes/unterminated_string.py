# title: a string without its end
# expect: error SyntaxError
# agent: refuse
result = "abc
