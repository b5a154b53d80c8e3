# title: a priority queue and a sorted list
# expect: ok
# check: result == ["low", [1, 3, 4]]
import bisect
import heapq

heap = []
for priority, name in [(2, "mid"), (1, "low"), (3, "high")]:
    heapq.heappush(heap, (priority, name))
numbers = [1, 4]
bisect.insort(numbers, 3)
result = [heapq.heappop(heap)[1], numbers]
