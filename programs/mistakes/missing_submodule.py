# title: a name that a module does not have
# expect: error ImportError
# agent: refuse
from math import squareroot

result = squareroot(4)
