# id: AV-24-e
# title: reads from a mapping beyond the end of its file
# walls: full nested
# first: fresh fork
# second: pid namespace
# expect: crash
# control: none: a crash of its own needs no control
"""The file is cut after it was mapped, so the pages behind the mapping are gone: a bus error."""

import mmap
import os

with open("file", "w+b") as file:
    file.write(bytes(8192))
    file.flush()
    view = mmap.mmap(file.fileno(), 8192)
    os.ftruncate(file.fileno(), 0)
    result = view[5000]
