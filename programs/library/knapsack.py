# title: dynamic programming
# expect: ok
# check: result == 220
from functools import cache

items = [(10, 60), (20, 100), (30, 120)]

@cache
def best(i, room):
    if i == len(items):
        return 0
    weight, value = items[i]
    skip = best(i + 1, room)
    return max(skip, value + best(i + 1, room - weight)) if weight <= room else skip

result = best(0, 50)
