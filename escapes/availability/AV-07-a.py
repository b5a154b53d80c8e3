# id: AV-07-a
# title: burns processor time in threads that do not hold the interpreter's lock
# walls: full nested
# first: rlimits
# second: engine clock
# expect: limit cpu_ms
# limits: cpu_ms=1000 threads=4
# control: raised cpu_ms=120000 wall_ms=120000
"""Hashing releases the lock, so the threads run on all cores at once. Processor time must be
counted for all of them together."""

import hashlib
import threading
import time

block = bytes(4_000_000)


def burn():
    while time.process_time() < 1.3:
        hashlib.sha256(block).digest()


workers = [threading.Thread(target=burn) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
result = "used more than it had"
