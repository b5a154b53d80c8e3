# title: appends to a log and reads its end
# expect: ok
# check: result == ["line 8", "line 9"]
from collections import deque

for i in range(10):
    with open("run.log", "a", encoding="utf-8") as f:
        f.write(f"line {i}\n")
with open("run.log") as f:
    result = [line.strip() for line in deque(f, maxlen=2)]
