# title: 32 threads that hold nothing, and 100 megabytes of data
# limits: memory_bytes=268435456
# expect: ok
# check: result == [32, 100000000]
import time
from concurrent.futures import ThreadPoolExecutor

data = bytes(100_000_000)
with ThreadPoolExecutor(max_workers=32) as ex:
    done = list(ex.map(lambda i: time.sleep(0.05), range(32)))
result = [len(done), len(data)]
