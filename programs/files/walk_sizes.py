# title: the size of each folder
# expect: ok
# check: result == {".": 0, "./logs": 30}
import os

os.makedirs("logs")
for i in range(3):
    with open(f"logs/{i}.log", "w") as f:
        f.write("x" * 10)
result = {}
for folder, _, names in os.walk("."):
    result[folder] = sum(os.path.getsize(os.path.join(folder, n)) for n in names)
