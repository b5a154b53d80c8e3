# title: caches that let go
# expect: ok
# check: result == [1, 0]
import gc
import weakref

class Node:
    pass

cache = weakref.WeakValueDictionary()
node = Node()
cache["n"] = node
before = len(cache)
del node
gc.collect()
result = [before, len(cache)]
