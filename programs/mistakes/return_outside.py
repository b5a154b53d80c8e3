# title: return outside of a function
# expect: error SyntaxError
x = 5
return x
