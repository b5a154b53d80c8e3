# id: CON-20-a
# title: climbs out of a directory that is moved while it is held
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A directory that is moved under the feet of whoever holds it may lose its way to the root, and
with it the rules that hang on that way."""

import os
import shutil
import tempfile

other = tempfile.mkdtemp()
down = context["secret_file"].lstrip("/")
found = []
for depth in (1, 3, 30):
    top = "top%d" % depth
    deep = os.path.join(top, *["d"] * depth)
    os.makedirs(deep)
    held = [os.open(place, os.O_RDONLY | os.O_DIRECTORY) for place in (top, deep)]
    for target in (os.path.join(other, top), "moved%d" % depth):
        try:
            os.rename(deep, target)
        except OSError:
            continue
        for start in held:
            for climb in range(0, 70, 5):
                try:
                    path = "../" * climb + down
                    found.append(os.read(os.open(path, os.O_RDONLY, dir_fd=start), 99).decode())
                except OSError:
                    pass
        try:
            os.rename(target, deep)
        except OSError:
            pass
    for start in held:
        os.close(start)
shutil.rmtree(other)
result = found
