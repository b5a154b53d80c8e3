# title: two hundred files, one after the other
# expect: ok
# check: result == 19900
total = 0
for i in range(200):
    with open(f"f{i}.txt", "w") as f:
        f.write(str(i))
for i in range(200):
    with open(f"f{i}.txt") as f:
        total += int(f.read())
result = total
