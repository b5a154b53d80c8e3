# title: a factorial of hundreds of digits
# expect: ok
# check: result == [2568, 10]
import math

n = math.factorial(1000)
result = [len(str(n)), math.comb(5, 2)]
