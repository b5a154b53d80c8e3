# title: a question mark of a notebook
# expect: error SyntaxError
len?
