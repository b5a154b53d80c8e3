# id: CON-01-b
# title: lists directories of the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Lists the canary's directory and everything above it. Names of files tell who lives on the host,
and where it is worth to look."""

import glob
import os

seen = []
place = context["folder"]
while True:
    for way in (os.listdir, lambda path: [entry.name for entry in os.scandir(path)],
                lambda path: glob.glob(path + "/*"), lambda path: next(os.walk(path))[2]):
        try:
            seen += [os.path.join(place, name) for name in way(place)]
        except (OSError, StopIteration):
            pass
    if place == "/":
        break
    place = os.path.dirname(place)
if context["secret_file"] in seen:
    result = context["flag"]
