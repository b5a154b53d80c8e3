# id: AV-33-a
# title: forks while another thread holds a lock
# walls: full
# first: engine clock
# second: pid namespace
# expect: limit wall_ms
# limits: wall_ms=150 processes=1
# control: raised wall_ms=120000
"""The lock is copied as taken, and the thread that would free it is not. The child waits for it,
and the parent for the child."""

import os
import threading

lock = threading.Lock()
done = threading.Event()


def hold():
    with lock:
        done.wait(5)


threading.Thread(target=hold).start()
while not lock.locked():
    pass
reader, writer = os.pipe()
if os.fork() == 0:
    lock.acquire(timeout=context["hold"])
    os.write(writer, b"x")
    os._exit(0)
os.read(reader, 1)
done.set()
result = "unlocked"
