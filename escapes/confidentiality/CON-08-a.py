# id: CON-08-a
# title: looks for a descriptor that leads out of its directory
# walls: full nested
# first: descriptors
# second: private root
# expect: ok
# control: bare
"""The first program stands for a careless engine and leaves directories open. The second tries
every number a descriptor can have, and reads the canary from any directory it finds."""

import os

left = []
for place in (context["folder"], "/", "."):
    for flags in (os.O_RDONLY, os.O_PATH):
        try:
            left.append(os.open(place, flags | os.O_DIRECTORY))
        except OSError:
            pass
# ---
import os
import stat

down = context["secret_file"]
found = []
for fd in range(65536):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        continue
    if stat.S_ISDIR(mode):
        found.append(context["flag"])
    for path in ("secret.txt", down.lstrip("/"), "../" * 64 + down.lstrip("/")):
        try:
            found.append(os.read(os.open(path, os.O_RDONLY, dir_fd=fd), 4096).decode())
        except OSError:
            pass
result = found
