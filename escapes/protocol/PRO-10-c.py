# id: PRO-10-c
# title: leaves links to a file of the host where artifacts are listed
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: none: what is left is only listed by the engine
"""The engine lists plain files and follows nothing, so no link may show what it points at."""

import os

secret = context["secret_file"]
os.symlink(secret, "plain.txt")
os.symlink(os.path.dirname(secret), "folder")
os.symlink("/proc/self/environ", "environ")
os.symlink("..", "up")
os.symlink("loop", "loop")
os.mkdir("deep")
os.symlink(secret, "deep/result.json")
for name in ("plain.txt", "deep/result.json", "folder/secret.txt"):
    try:
        result = open(name).read()
    except OSError:
        pass
