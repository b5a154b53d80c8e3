# title: a cache, a generator and a context manager
# expect: ok
# check: result == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
import contextlib
import functools
import time

@functools.lru_cache(None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def gen():
    yield from (fib(i) for i in range(10))

@contextlib.contextmanager
def timed():
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:.4f}s")

with timed():
    result = list(gen())
