# title: a queue at a counter, simulated
# expect: ok
# check: result > 0
import heapq
import random

random.seed(1)
events, waiting, served = [(random.expovariate(1), "arrive")], 0, 0
while events and served < 1000:
    now, kind = heapq.heappop(events)
    if kind == "arrive":
        waiting += 1
        heapq.heappush(events, (now + random.expovariate(1), "arrive"))
        if waiting == 1:
            heapq.heappush(events, (now + random.expovariate(1.2), "leave"))
    else:
        waiting, served = waiting - 1, served + 1
        if waiting:
            heapq.heappush(events, (now + random.expovariate(1.2), "leave"))
result = round(now, 2)
