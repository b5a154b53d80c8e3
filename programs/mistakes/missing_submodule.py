# title: a name that a module does not have
# expect: error ImportError
from math import squareroot

result = squareroot(4)
