# id: INT-10-c
# title: climbs out of the jar with relative names
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Writes with names that go up first, from its directory, from a directory below and over links."""

import os

inside = os.path.join(context["folder"], "climbed.txt").lstrip("/")
starts = ["../" * 20, "./.././" + "../" * 20, "//" + "../" * 3, "/proc/self/root/", "/proc/1/root/",
          "/proc/self/cwd/" + "../" * 20, "/dev/fd/0/" + "../" * 20, "/tmp/" + "../" * 20]
try:
    open(context["secret_file"]).close()
    bare = True
except OSError:
    bare = False
if not bare:
    os.mkdir("below")
    os.symlink("../" * 20, "below/up")
    starts += ["below/up/", "below/../../", "below/../../../", "/jar/../"]
for start in starts:
    for flags in (os.O_CREAT | os.O_WRONLY, os.O_CREAT | os.O_EXCL | os.O_RDWR):
        try:
            os.write(os.open(start + inside, flags, 0o666), b"climbed")
        except OSError:
            pass
here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
try:
    os.open("../" * 20 + inside, os.O_CREAT | os.O_WRONLY, 0o666, dir_fd=here)
except OSError:
    pass
