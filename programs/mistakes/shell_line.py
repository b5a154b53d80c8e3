# title: a shell line of a notebook
# expect: error SyntaxError
# says: notebook
!ls -la
result = 1
