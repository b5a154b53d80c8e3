# id: CON-02-a
# title: climbs out with dots from every directory it can name
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Walks upwards sixty-four times from the current directory and from every directory that can be
read, in paths and step by step, and then down to the canary."""

import os
import sys
import tempfile

up = "../" * 64
down = context["secret_file"].lstrip("/")
starts = ["", tempfile.gettempdir() + "/", "/dev/", "/jar/", "/tmp/", "/usr/lib64/", "/carboy/"]
starts += [place + "/" for place in sys.path]
found = []
for start in starts:
    for path in (start + up + down, start + "./" + up + "./" + down, start + "x/../" + up + down):
        try:
            found.append(open(path).read())
        except OSError:
            pass
    try:
        os.chdir(start or ".")
        for _ in range(64):
            os.chdir("..")
        found.append(open(down).read())
    except OSError:
        pass
result = found
