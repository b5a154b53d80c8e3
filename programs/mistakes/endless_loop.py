# title: a loop that never ends
# preset: low
# limits: wall_ms=1500
# expect: limit wall_ms
# says: less
i = 0
while True:
    i += 1
