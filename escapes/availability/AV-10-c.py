# id: AV-10-c
# title: starts more threads than it may have
# walls: full nested
# first: engine count
# second: kill by pidfd
# expect: limit threads
# limits: threads=4
# control: raised threads=64
"""Threads are processes to the kernel: enough of them fill its table for everybody."""

import threading

gate = threading.Event()
workers = []
try:
    for _ in range(24):
        worker = threading.Thread(target=gate.wait, args=(2,))
        worker.start()
        workers.append(worker)
finally:
    gate.set()
result = len(workers)
