# id: AV-29-c
# title: compiles a program of very many constants and branches
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""Long rather than deep: a table of strings, a long chain of branches and a long match."""

lines = ["x = 0", "table = ["]
lines += [f"'text {number}'," for number in range(100_000)]
lines += ["]", "match x:"]
lines += [f"    case [{number}, {{'a': {number}}}]: pass" for number in range(10_000)]
result = len(compile("\n".join(lines), "bomb", "exec").co_consts)
