# title: a list that does not fit
# limits: memory_bytes=64MiB
# expect: limit memory_bytes
# says: smaller
data = []
while True:
    data.append("x" * 1_000_000)
