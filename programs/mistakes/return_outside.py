# title: return outside of a function
# expect: error SyntaxError
# agent: refuse
x = 5
return x
