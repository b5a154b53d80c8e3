# title: a module as the result
# expect: ok
import math

result = math
