# id: INT-05-b
# title: lets a thread swap files for links until the very end
# walls: full nested
# first: kill by pidfd
# second: landlock
# expect: ok
# control: bare
# repeat: 100
"""A thread goes on while the result is already on its way."""

import os
import tempfile
import threading


def flip():
    while True:
        for one, two in (("link", "out"), ("out", "link"), ("dir", "out"), ("out", "dir")):
            try:
                os.rename(one, two)
            except OSError:
                pass


try:
    open(os.path.join(context["folder"], "out.csv"), "x").close()
except OSError:
    hidden = os.path.join(tempfile.gettempdir(), "hidden")
    os.mkdir(hidden)
    open(os.path.join(hidden, context["flag"]), "w").close()
    os.symlink(hidden, "link")
    os.mkdir("dir")
    threading.Thread(target=flip, daemon=True).start()
