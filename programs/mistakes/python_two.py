# title: a print statement of Python 2
# expect: error SyntaxError
print "hello"
