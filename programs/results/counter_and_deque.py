# title: collections of the standard library
# expect: ok
# check: result == [{"a": 2, "b": 1}, [1, 2], {"k": [1]}]
from collections import Counter, defaultdict, deque

d = defaultdict(list)
d["k"].append(1)
result = [Counter("aab"), deque([1, 2]), d]
