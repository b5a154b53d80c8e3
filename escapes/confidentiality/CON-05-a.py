# id: CON-05-a
# title: leaves through the last of a chain of forty symbolic links
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The kernel follows forty links and no more. Chains just below and above that number, and a loop,
must not end anywhere but inside."""

import os

found = []
for length in (2, 38, 39, 40, 41, 80):
    os.symlink(context["secret_file"], "hop0")
    for hop in range(1, length):
        os.symlink("hop%d" % (hop - 1), "hop%d" % hop)
    for hop in range(length):
        try:
            found.append(open("hop%d" % hop).read())
        except OSError:
            pass
    for hop in range(length):
        os.unlink("hop%d" % hop)
os.symlink("there", "here")
os.symlink("here" + "/.." * 30 + context["secret_file"], "there")
for path in ("here", "there", "here/..", "there" + context["secret_file"]):
    try:
        found.append(open(path).read())
    except OSError:
        pass
os.unlink("here")
os.unlink("there")
result = sorted(set(found))
