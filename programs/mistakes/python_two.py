# title: a print statement of Python 2
# expect: error SyntaxError
# agent: refuse
print "hello"
