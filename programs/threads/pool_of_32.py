# title: a hundred tasks on 32 threads
# expect: ok
# check: result == 4950
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

def work(i):
    time.sleep(0.01)
    return i

with ThreadPoolExecutor(max_workers=32) as ex:
    futures = [ex.submit(work, i) for i in range(100)]
    result = sum(f.result() for f in as_completed(futures))
