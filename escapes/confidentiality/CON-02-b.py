# id: CON-02-b
# title: climbs out with dots from directory descriptors
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A path that starts at a descriptor is resolved from there. Every directory that can be opened,
with and without the right to read it, serves as a start."""

import os
import sys

up = "../" * 64
down = context["secret_file"].lstrip("/")
kinds = (os.O_DIRECTORY, os.O_PATH, os.O_PATH | os.O_DIRECTORY)
found = []
for place in [".", "..", "/", "/dev", "/tmp", "/usr", "/etc", "/carboy", *sys.path]:
    for kind in kinds:
        try:
            start = os.open(place, os.O_RDONLY | kind)
        except OSError:
            continue
        for path in (up + down, down, "./" + up + down):
            for flags in (os.O_RDONLY, os.O_RDWR):
                try:
                    found.append(os.read(os.open(path, flags, dir_fd=start), 4096).decode())
                except OSError:
                    pass
        try:
            found += os.listdir(os.open(up + os.path.dirname(down), os.O_RDONLY, dir_fd=start))
        except OSError:
            pass
        os.close(start)
result = found
