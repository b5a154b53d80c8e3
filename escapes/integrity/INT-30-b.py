# id: INT-30-b
# title: empties files by opening them for reading
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Opening with the flag to truncate empties a file even if it is opened only for reading."""

import os

folder = context["folder"]
for name in ("run.sh", "target.txt"):
    path = os.path.join(folder, name)
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, 3):
        try:
            os.close(os.open(path, flags | os.O_TRUNC))
        except OSError:
            pass
