# title: writes 40 MB of lines and counts them
# expect: ok
# check: result == 1000000
with open("lines.txt", "w") as f:
    for i in range(1_000_000):
        f.write(f"{i:07d} some text that fills a line 12345\n")
with open("lines.txt") as f:
    result = sum(1 for _ in f)
