# title: a line that is no Python
# expect: error SyntaxError
def f(:
    pass
