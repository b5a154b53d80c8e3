# id: PRO-15-d
# title: makes the result pipe refuse to wait and answers with more than it holds
# walls: full nested
# first: frames
# second: none
# expect: ok | crash | exception
# control: none: the pipe of an answer exists only in a jar
"""If the engine is not quick enough, a part arrives, and a part is not an answer."""

import os

os.set_blocking(4, False)
result = "x" * 900_000
