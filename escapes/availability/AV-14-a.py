# id: AV-14-a
# title: opens files until there is no descriptor left
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit open_files | exception
# limits: open_files=32
# control: raised open_files=400
"""Descriptors are kernel memory, and a table of the whole machine stands behind them."""

open("file", "w").close()
held = [open("file") for _ in range(200)]
result = len(held)
