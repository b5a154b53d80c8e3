# id: INT-37-a
# title: empties files of the host in every way that does not count as writing
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Emptying a file is no right of its own before version 3 of Landlock, and a file can be opened in a mode
that is neither reading nor writing. Goes there by path, from a directory, through a link of its own, and
with bits that the kernel does not look at."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
folder = context["folder"]
target = os.path.join(folder, "target.txt")
NEITHER = os.O_RDWR | os.O_WRONLY
os.symlink(target, "link")
paths = [(target, None), ("link", None), (os.path.abspath("link"), None)]
for flags in (os.O_RDONLY, os.O_PATH):
    try:
        paths.append(("target.txt", os.open(folder, flags | os.O_DIRECTORY)))
    except OSError:
        pass
for mode in (os.O_RDONLY, NEITHER):
    for more in (0, os.O_CREAT, os.O_NONBLOCK, os.O_NOATIME, os.O_CLOEXEC, os.O_PATH, os.O_APPEND):
        for path, directory in paths:
            try:
                os.close(os.open(path, mode | os.O_TRUNC | more, 0o666, dir_fd=directory))
            except OSError:
                pass
    for path, directory in paths:
        where = ctypes.c_long(-100 if directory is None else directory)
        for high in (0, 1 << 32, -1 << 32):
            libc.openat(where, path.encode(), ctypes.c_long(high | mode | os.O_TRUNC), 0o666)
for path, _ in paths:
    for cut in (libc.truncate, libc.truncate64):
        for size in (0, 1, 99):
            cut(path.encode(), ctypes.c_long(size))
    for mode in (os.O_RDONLY, os.O_PATH, NEITHER):
        try:
            os.truncate(os.open(path, mode), 2)
        except OSError:
            pass
