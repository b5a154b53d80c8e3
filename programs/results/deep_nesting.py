# title: two hundred lists in each other
# expect: ok
value = 0
for _ in range(200):
    value = [value]
result = value
