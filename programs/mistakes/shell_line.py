# title: a shell line of a notebook
# expect: error SyntaxError
# says: notebook
# agent: refuse
!ls -la
result = 1
