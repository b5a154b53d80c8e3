# id: AV-08-g
# title: writes into private copies of one small file
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""Pages of a file that are written in a private mapping become the process's own memory, though
the file stays small and no anonymous memory is asked for."""

import mmap
import time

SIZE = 4 << 20
with open("seed", "wb") as seed:
    seed.write(bytes(SIZE))
maps = []
with open("seed", "r+b") as seed:
    for _ in range(25):
        try:
            copy = mmap.mmap(seed.fileno(), SIZE, flags=mmap.MAP_PRIVATE)
        except OSError:
            rest = []  # until the kernel refuses: what was freed before may serve once more
            while True:
                rest.append(bytearray(SIZE))
        for at in range(0, SIZE, 4096):
            copy[at] = 1
        maps.append(copy)
time.sleep(context["hold"])
result = len(maps)
