# title: a counter behind a lock
# expect: ok
# check: result == 4000
import threading

count = 0
lock = threading.Lock()

def add():
    global count
    for _ in range(1000):
        with lock:
            count += 1

threads = [threading.Thread(target=add) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
result = count
