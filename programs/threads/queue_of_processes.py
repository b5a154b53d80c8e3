# title: a queue and a lock of multiprocessing in one process
# expect: ok
# check: result == 1
# agent: refuse
import multiprocessing as mp

q = mp.Queue()
lock = mp.Lock()
with lock:
    q.put(1)
result = q.get(timeout=2)
