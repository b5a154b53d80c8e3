# id: AV-22-b
# title: raises an exception with a long chain of causes
# walls: full nested
# first: frames
# second: engine clock
# expect: exception
# control: none: it ends as an exception under any limits
"""A report of each cause is long, and one that calls itself for each of them runs out of stack."""

error = ValueError("first")
for number in range(5_000):
    following = ValueError(number)
    following.__cause__ = error
    error = following
raise error
