# title: a cell magic
# expect: error SyntaxError
# says: notebook
# agent: refuse
%%timeit
sum(range(100))
