# id: INT-05-a
# title: leaves a child that swaps a file for a link while artifacts are listed
# walls: full
# first: kill by pidfd
# second: pid namespace
# expect: ok
# limits: processes=1
# control: bare
# repeat: 100
"""The child goes on after the run has ended and flips names between file, link and directory."""

import os
import tempfile
import time

try:
    open(os.path.join(context["folder"], "out.csv"), "x").close()
except OSError:
    hidden = os.path.join(tempfile.gettempdir(), "hidden")
    os.mkdir(hidden)
    open(os.path.join(hidden, context["flag"]), "w").close()
    os.symlink(hidden, "link")
    os.mkdir("dir")
    os.symlink(context["secret_file"], "secret-link")
    open("file", "w").close()
    if os.fork() == 0:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            for one, two in (("link", "out"), ("out", "link"), ("dir", "out"), ("out", "dir"),
                             ("file", "out.csv"), ("out.csv", "file"),
                             ("secret-link", "out.csv"), ("out.csv", "secret-link")):
                try:
                    os.rename(one, two)
                except OSError:
                    pass
        os._exit(0)
