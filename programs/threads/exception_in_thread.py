# title: an exception in a future
# expect: error ZeroDivisionError
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor() as ex:
    result = ex.submit(lambda: 1 / 0).result()
