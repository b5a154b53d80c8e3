# title: prose before the code
# expect: error SyntaxError
# agent: refuse
Sure! Here is the code:
result = 1
