# id: INT-03-b
# title: moves the interpreter away and puts another in its place
# walls: full nested
# first: mount namespace
# second: landlock
# expect: ok
# control: bare
"""A running program cannot be written, but its name can be given to another file."""

import os
import sys

paths = [os.path.join(context["folder"], "run.sh"), sys.executable]
paths += [os.path.realpath(sys.executable), "/carboy/zygote.so", os.__file__]
result = []
for path in paths:
    aside = path + ".aside"
    for undo, way in (
        (lambda: os.unlink(aside), lambda: os.symlink("other", aside)),
        (lambda: os.rename(aside, path), lambda: os.rename(path, aside)),
    ):
        try:
            way()
            undo()
            result.append(context["flag"])
        except OSError as error:
            result.append(error.errno)
    if context["flag"] in result:
        break
