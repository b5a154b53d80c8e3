# title: the same numbers from the same seed
# expect: ok
# check: result is True
import random

random.seed(7)
a = [random.randint(1, 6) for _ in range(5)]
random.seed(7)
result = a == [random.randint(1, 6) for _ in range(5)]
