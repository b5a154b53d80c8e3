# id: INT-04-b
# title: leaves links to directories, so that a listing walks out of the jar
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""If the listing of the artifacts follows a link to a directory, names from outside appear in the
outcome: here a name in the temporary directory, which is not listed."""

import os
import tempfile

try:
    os.mkdir(os.path.join(context["folder"], context["flag"]))
except OSError:
    hidden = os.path.join(tempfile.gettempdir(), "hidden")
    os.mkdir(hidden)
    open(os.path.join(hidden, context["flag"]), "w").close()
    os.symlink(hidden, "out")
    os.symlink(context["folder"], "folder")
    os.symlink("/", "root")
    os.symlink(".", "loop")
    os.mkdir("deep")
    os.symlink(hidden, "deep/out")
    os.symlink("..", "deep/up")
