# title: prints a megabyte and still answers
# expect: ok
# check: result == 10000
for i in range(10_000):
    print(i, "x" * 100)
result = i + 1
