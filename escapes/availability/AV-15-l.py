# id: AV-15-l
# title: takes memory to share with children, which no limit of memory counts
# walls: full
# first: memory file system
# second: rlimits
# expect: limit file_bytes | exception
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""Memory that is shared is nobody's own. Here it is a file without a name, and must count as one."""

import mmap

pieces = []
for _ in range(16):
    piece = mmap.mmap(-1, 250_000)
    piece.write(bytes(250_000))
    pieces.append(piece)
result = "four megabytes"
