# title: producers and consumers
# expect: ok
# check: result == [0, 1, 4, 9, 16]
import queue
import threading

jobs, done = queue.Queue(), queue.Queue()

def worker():
    while (n := jobs.get()) is not None:
        done.put(n * n)

workers = [threading.Thread(target=worker, daemon=True) for _ in range(2)]
for w in workers:
    w.start()
for n in range(5):
    jobs.put(n)
for _ in workers:
    jobs.put(None)
for w in workers:
    w.join()
result = sorted(done.get() for _ in range(5))
