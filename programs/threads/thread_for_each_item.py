# title: a thread for each of a hundred items
# limits: threads=32
# expect: limit threads
# says: fewer workers
# outside: no
import threading
import time

threads = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(100)]
for t in threads:
    t.start()
for t in threads:
    t.join()
result = len(threads)
