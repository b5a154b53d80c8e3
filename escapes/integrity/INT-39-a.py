# id: INT-39-a
# title: writes to a directory that it was given to read
# walls: full nested
# first: private root
# second: landlock
# given: folder
# expect: ok
# control: bare
"""The directory is writable for everybody on the host, and was handed in to be read. Opens, makes, moves and
removes in it, by each name that it has inside."""

import os

names = [name for name in ("data", "/data", "/mnt/data") if os.path.isdir(name)] or [context["folder"]]
result = []
for folder in names:
    target = os.path.join(folder, "target.txt")
    for way in (
        lambda: open(target, "a").write(context["flag"]),
        lambda: open(target, "r+").write(context["flag"]),
        lambda: open(target, "w").write(context["flag"]),
        lambda: os.truncate(target, 0),
        lambda: os.close(os.open(target, os.O_RDONLY | os.O_TRUNC)),
        lambda: open(os.path.join(folder, "new.txt"), "x").write(context["flag"]),
        lambda: os.mkdir(os.path.join(folder, "made")),
        lambda: os.symlink("/", os.path.join(folder, "link")),
        lambda: os.rename(target, os.path.join(folder, "moved.txt")),
        lambda: os.unlink(target),
    ):
        try:
            way()
            result.append(context["flag"])
        except OSError as error:
            result.append(error.errno)
