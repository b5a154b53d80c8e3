# id: AV-22-c
# title: raises groups of exceptions within groups
# walls: full nested
# first: frames
# second: engine clock
# expect: exception | limit wall_ms
# limits: wall_ms=300
# control: none: with more time it ends as an exception
"""Groups nest, and each level holds two copies of the one below: written out, it doubles each
time."""

error = ValueError("leaf")
for number in range(400):
    error = ExceptionGroup("deep", [error])
for number in range(12):
    error = ExceptionGroup("wide", [error, error])
raise error
