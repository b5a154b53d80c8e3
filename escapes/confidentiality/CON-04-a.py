# id: CON-04-a
# title: follows links spelt with slashes and dots at their end
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A slash after a link makes a resolver follow it that had meant not to. Tries all spellings, with
flags that forbid to follow the last part."""

import os

down = os.path.basename(context["secret_file"])
os.symlink(context["folder"], "link")
found = []
for end in ("/", "//", "/.", "/./", "/.//./", "/../" + os.path.basename(context["folder"]) + "/"):
    for flags in (os.O_RDONLY, os.O_NOFOLLOW, os.O_PATH, os.O_DIRECTORY | os.O_NOFOLLOW):
        try:
            start = os.open("link" + end, flags)
            found.append(os.read(os.open(down, os.O_RDONLY, dir_fd=start), 4096).decode())
        except OSError:
            pass
    try:
        found.append(open("link" + end + "/" + down).read())
        found += os.listdir("link" + end)
    except OSError:
        pass
os.unlink("link")
result = found
