# id: INT-33
# title: replaces its own directory by a link for the next run
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""If the next jar's directory, or the removal of this one, went over the link, it would lead into
the folder of the host."""

import os
import tempfile

folder = context["folder"]
try:
    os.symlink("/", os.path.join(folder, "jar"))
except OSError:
    for here in (os.getcwd(), tempfile.gettempdir(), os.path.dirname(os.getcwd())):
        for way in (
            lambda: os.rename(here, here.rstrip("/") + ".x"),
            lambda: os.rmdir(here),
            lambda: os.unlink(here),
            lambda: os.symlink(folder, here),
            lambda: os.symlink(folder, here.rstrip("/") + ".y"),
            lambda: os.rename("../" + os.path.basename(here), "../x"),
        ):
            try:
                way()
            except OSError:
                pass
    for name in ("/jar", "/tmp", "/carboy", "/dev", "/proc"):
        try:
            os.rename(name, name + ".x")
            os.symlink(folder, name)
        except OSError:
            pass
# ---
import os

try:
    open(context["secret_file"]).close()
    bare = True
except OSError:
    bare = False
if not bare:
    open("written.txt", "w").write("x")
    os.mkdir("made")
