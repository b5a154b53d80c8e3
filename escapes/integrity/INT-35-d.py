# id: INT-35-d
# title: puts other files in the place of the descriptors that lead to the engine
# walls: full nested
# first: frames
# second: engine clock
# expect: any
# limits: wall_ms=3000
# control: none: on a bare host there is no engine to talk to
"""Everything that leads out is closed and replaced by a file or a pipe of its own. The run must
end, and the engine must not wait for ever."""

import os

read, write = os.pipe()
file = os.open("own.txt", os.O_CREAT | os.O_RDWR)
for fd in range(64):
    if fd not in (read, write, file):
        try:
            os.dup2(file if fd % 2 else write, fd)
        except OSError:
            pass
print("where does this go")
result = context["number"]
