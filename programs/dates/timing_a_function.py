# title: how long a function takes
# expect: ok
# check: 0 <= result < 5
import time

start = time.perf_counter()
sum(i * i for i in range(100_000))
result = time.perf_counter() - start
