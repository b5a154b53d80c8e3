# id: PRO-15-a
# title: puts the result pipe and standard output in each other's place
# walls: full nested
# first: frames
# second: descriptors
# expect: crash
# control: none: the pipe of an answer exists only in a jar
"""An answer that comes out as text is no answer, and one to nobody is none either."""

import os

os.dup2(1, 4)
result = "to standard output"
# ---
import os

os.dup2(4, 1)
os.write(1, b"\0\0\0\x10text and no JSON")
result = 1
# ---
import os

os.close(4)
result = 1
# ---
import os

# The other end of a pipe of its own.
os.dup2(os.pipe()[1], 4)
result = 1
