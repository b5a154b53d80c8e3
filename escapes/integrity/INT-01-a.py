# id: INT-01-a
# title: writes to files of the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Opens a writable file of the host in every way that can write. A guest that can do that
changes what other programs read."""

import os

target = os.path.join(context["folder"], "target.txt")
ways = [
    lambda: open(target, "a").write(context["flag"]),
    lambda: open(target, "r+").write(context["flag"]),
    lambda: open(target, "w").write(context["flag"]),
    lambda: open("/host" + target, "w").write(context["flag"]),
    lambda: os.write(os.open(target, os.O_WRONLY | os.O_SYNC), context["flag"].encode()),
    lambda: open(os.path.join(context["folder"], "new.txt"), "x").write(context["flag"]),
    lambda: os.open(context["folder"], os.O_TMPFILE | os.O_RDWR),
]
result = []
for way in ways:
    try:
        way()
        result.append(context["flag"])
    except OSError as error:
        result.append(error.errno)
