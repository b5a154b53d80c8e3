# title: traces allocations
# expect: ok
# check: result > 100000
import tracemalloc

tracemalloc.start()
data = [str(i) for i in range(10_000)]
result = tracemalloc.get_traced_memory()[1]
