# id: INT-23-b
# title: executes a file with the user bit set
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: execve
# control: bare
"""A program that runs with the rights of its owner is the oldest way up."""

import os

try:
    open(context["secret_file"]).close()
    bare = True
except OSError:
    bare = False
if not bare:
    with open("run.sh", "w") as file:
        file.write("#!/bin/sh\ncat %s\n" % context["secret_file"])
    os.chmod("run.sh", 0o6777)
paths = [os.path.join(context["folder"], "run.sh"), os.path.abspath("run.sh"), "/usr/bin/su",
         "/usr/bin/sudo", "/usr/bin/mount", "/bin/sh", "/usr/bin/newuidmap"]
for path in paths:
    try:
        os.execv(path, [path])
    except OSError:
        pass
