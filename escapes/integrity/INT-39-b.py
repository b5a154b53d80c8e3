# id: INT-39-b
# title: takes a directory that it was given to read for its own
# walls: full nested
# first: private root
# second: landlock
# given: folder
# expect: ok | denied
# control: bare
"""What was handed in belongs to the same user. Changes modes and times, makes a second name for a file in its own
directory and writes through that, and mounts it anew without the flag that makes it read-only."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
folder = next((name for name in ("/data", "data") if os.path.isdir(name)), context["folder"])
target = os.path.join(folder, "target.txt")
MS_REMOUNT, MS_BIND = 32, 4096
result = []
for way in (
    lambda: os.chmod(target, 0o777),
    lambda: os.utime(target, (1, 1)),
    lambda: os.link(target, "mine.txt"),
    lambda: open("mine.txt", "a").write("changed"),
    lambda: libc.mount(None, folder.encode(), None, MS_REMOUNT | MS_BIND, None),
    lambda: libc.umount2(folder.encode(), 2),
    lambda: open(target, "a").write(context["flag"]),
):
    try:
        way()
    except OSError as error:
        result.append(error.errno)
