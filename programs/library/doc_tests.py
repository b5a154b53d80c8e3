# title: runs the examples in its docstrings
# expect: ok
# check: result == 0
# agent: refuse
import doctest

def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x

result = doctest.testmod().failed
