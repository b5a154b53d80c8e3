# id: AV-36-d
# title: makes calls that no rule names as fast as it can, from many threads
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit denials
# denies: unknown
# limits: denials=200
# control: raised denials=100000
"""A number without a name is an error for whoever calls it, and work for the engine. Different
numbers must not become entries without end."""

import ctypes
import threading

libc = ctypes.CDLL(None, use_errno=True)


def flood(first):
    for number in range(first, first + 500):
        libc.syscall(number, 0, 0, 0, 0, 0, 0)


threads = [threading.Thread(target=flood, args=(600 + 1000 * at,)) for at in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
result = "two thousand"
