# title: a pool with as many threads as it likes
# expect: ok
# check: result == [1, 2, 3]
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor() as ex:
    result = list(ex.map(len, ["a", "bb", "ccc"]))
