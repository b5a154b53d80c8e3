# title: a cell magic
# expect: error SyntaxError
# says: notebook
%%timeit
sum(range(100))
