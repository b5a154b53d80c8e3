# id: PRO-15-f
# title: makes a stream of packets out of its pipes
# walls: full nested
# first: frames
# second: engine clock
# expect: ok | limit wall_ms
# limits: wall_ms=1500
# control: none: the pipe of an answer exists only in a jar
"""Then a read yields one packet and no more; the engine must neither lose its place nor hang."""

import fcntl
import os

fcntl.fcntl(4, fcntl.F_SETFL, fcntl.fcntl(4, fcntl.F_GETFL) | os.O_DIRECT)
result = "x" * 300_000
# ---
import fcntl
import os

fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_DIRECT)
print("y" * 150_000)
result = "x"
