# id: AV-29-b
# title: compiles nested finally blocks, each of which is copied twice
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=100
# control: raised wall_ms=120000
"""The compiler writes a finally block once for each way into it, so the code doubles with each
level while the source grows by two lines."""

depth = 15
source = ""
for level in range(depth):
    source += " " * level + "try: a\n" + " " * level + "finally:\n"
source += " " * depth + "b\n"
result = sum(len(compile(source, "bomb", "exec").co_code) for _ in range(4))
