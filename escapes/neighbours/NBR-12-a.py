# id: NBR-12-a
# title: leaves files to be collected that hold gigabytes of nothing
# walls: full nested
# first: engine measure
# second: none
# expect: ok | limit wall_ms
# limits: wall_ms=1000
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""What is left is read, hashed and kept while others run."""

for number in range(900):
    with open("hole%03d" % number, "wb") as file:
        file.truncate(1 << 20 if number % 2 else 9 << 20)
