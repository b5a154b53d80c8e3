# title: squares on four threads
# expect: ok
# check: result == [0, 1, 4, 9]
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(max_workers=4) as ex:
    result = list(ex.map(lambda x: x * x, range(4)))
