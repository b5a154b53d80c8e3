# id: PRO-15-h
# title: sends its output where the answer belongs and then waits
# walls: full nested
# first: frames
# second: engine clock
# expect: crash | limit wall_ms
# limits: wall_ms=900
# control: none: the pipe of an answer exists only in a jar
"""Four letters of text read as a length claim more than will ever come."""

import os

os.dup2(4, 1)
print("this is text and no frame", flush=True)
result = context["flag"]
