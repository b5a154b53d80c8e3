# id: INT-01-b
# title: renames and deletes files of the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Makes, renames, replaces and removes names in a directory of the host that anybody may write."""

import os

folder = context["folder"]
target = os.path.join(folder, "target.txt")
own = os.path.abspath("own.txt")
ways = [
    lambda: os.mkdir(os.path.join(folder, "made")),
    lambda: os.symlink("/", os.path.join(folder, "link")),
    lambda: os.rename(target, os.path.join(folder, "moved.txt")),
    lambda: os.unlink(target),
    lambda: os.rename(folder, folder + ".moved"),
    lambda: os.rmdir(folder),
]
result = []
for way in ways:
    try:
        way()
        result.append(context["flag"])
        break
    except OSError as error:
        result.append(error.errno)
else:
    # nothing worked: carry a file across the border, in both directions
    open(own, "w").close()
    for one, two in ((own, target), (target, own)):
        try:
            os.rename(one, two)
            result.append(context["flag"])
        except OSError as error:
            result.append(error.errno)
