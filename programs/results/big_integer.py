# title: a whole number of hundreds of digits
# expect: ok
# check: str(result).startswith("9332621544")
import math

result = math.factorial(100)
