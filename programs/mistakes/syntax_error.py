# title: a line that is no Python
# expect: error SyntaxError
# agent: refuse
def f(:
    pass
