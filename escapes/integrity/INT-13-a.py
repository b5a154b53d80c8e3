# id: INT-13-a
# title: sets the user and group bits of files
# walls: full nested
# first: private root
# second: no new privileges
# expect: ok
# control: bare
"""A file that keeps these bits when it is copied out runs with the rights of its owner."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
for root in (context["folder"], os.getcwd()):
    path = os.path.join(root, "bits.txt")
    for mode in (0o4777, 0o2777, 0o6777, 0o1777):
        try:
            fd = os.open(path, os.O_CREAT | os.O_WRONLY, mode)
            os.chmod(path, mode)
            os.close(fd)
            libc.syscall(nr["chmod"], os.fsencode(os.path.join(context["folder"], "run.sh")), mode)
        except OSError:
            pass
    if os.path.exists(os.path.join(context["folder"], "bits.txt")):
        break
