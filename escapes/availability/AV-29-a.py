# id: AV-29-a
# title: compiles an expression with very many parentheses and signs
# walls: full nested
# first: rlimits
# second: fresh fork
# expect: exception | crash | limit memory_bytes
# control: none: what ends it is a guard of the compiler, or the machine's stack
"""The compiler calls itself for each level. What the engine never does is to read the source."""

import sys

sys.setrecursionlimit(2**31 - 1)
for source in ("(" * 50_000 + ")" * 50_000, "a" + ".b" * 200_000):
    try:
        compile(source, "bomb", "eval")
    except (SyntaxError, MemoryError, RecursionError):
        pass
compile("-" * 300_000 + "1", "bomb", "eval")
