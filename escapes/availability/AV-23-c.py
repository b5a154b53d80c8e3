# id: AV-23-c
# title: overflows the small stack of a thread
# walls: full nested
# first: rlimits
# second: fresh fork
# expect: crash | ok
# control: none: what ends it is the stack of the thread, which the program has chosen itself
"""A thread with the least stack there can be, and a recursion through C that does not fit. What
lies beyond the stack must be nothing that matters to others."""

import functools
import sys
import threading

sys.setrecursionlimit(2**31 - 1)
threading.stack_size(32_768)


def deeper(depth):
    return functools.reduce(lambda a, b: deeper(depth - 1) if depth else 0, [1, 2])


worker = threading.Thread(target=deeper, args=(20_000,))
worker.start()
worker.join()
