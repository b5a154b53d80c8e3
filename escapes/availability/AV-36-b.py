# id: AV-36-b
# title: makes refused calls from many threads at once
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit denials
# limits: denials=200 threads=8
# control: raised denials=100000
"""Several calls wait for an answer at the same time, and the run is ended in the midst of them."""

import ctypes
import threading

libc = ctypes.CDLL(None)
nr = context["nr"]


def flood(number):
    for _ in range(200):
        libc.syscall(number, -1, -1, -1, -1)


names = ("socket", "ptrace", "mount", "kexec_load", "perf_event_open", "bpf", "io_uring_setup")
numbers = [nr[name] for name in names]
workers = [threading.Thread(target=flood, args=(number,)) for number in numbers]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
result = "fourteen hundred"
