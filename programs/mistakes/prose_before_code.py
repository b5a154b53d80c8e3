# title: prose before the code
# expect: error SyntaxError
Sure! Here is the code:
result = 1
