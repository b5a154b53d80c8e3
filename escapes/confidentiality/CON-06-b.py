# id: CON-06-b
# title: renames a file of the host into its own directory
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Moves the canary to where it may be read, exchanges it with a file of the jar's own, and moves a
file of the jar's over it."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
secret, folder = context["secret_file"], context["folder"]
found = []
for target in ("moved", os.path.join(folder, "moved.txt")):
    try:
        os.rename(secret, target)
        found.append(open(target).read())
        os.rename(target, secret)
    except OSError:
        pass
open("own", "w").close()
for flags in (0, 1, 2):  # plain, without replacing, exchanging
    if libc.syscall(nr["renameat2"], -100, b"own", -100, secret.encode(), flags) == 0:
        found.append(open("own").read() if os.path.exists("own") else context["flag"])
        break
try:
    os.rename("own", os.path.join(folder, "target.txt"))
except OSError:
    pass
if os.path.exists("own"):
    os.unlink("own")
result = found
