# id: XRN-26-a
# title: holds what it was given open until its end, and the next run looks for it
# walls: full nested
# first: private root
# second: landlock
# given: folder to the first
# expect: ok
# control: bare
"""A directory of the host is handed into the first run and into no other. The second one looks under every name that
inputs have, beside its own directory, and through descriptors that nobody opened for it."""

import os

folder = next((name for name in ("/data", "data") if os.path.isdir(name)), context["folder"])
held = [os.open(os.path.join(folder, name), os.O_RDONLY) for name in ("secret.txt", "target.txt")]
os.symlink(os.path.abspath(folder), "kept")
os.chdir(folder)
result = len(held)
# ---
import os

names = ["data", "/data", "/mnt/data", "inputs", "/inputs", "/mnt/inputs", "workspace", "/workspace",
         "/mnt/workspace", "kept", "/jar/kept", "/tmp/kept", "../given", "..", "/mnt", context["folder"]]
found = []
for name in names:
    for below in ("", "data", "inputs"):
        try:
            found.append(open(os.path.join(name, below, "secret.txt")).read())
        except OSError:
            pass
for number in range(5, 64):
    for way in (lambda: number, lambda: os.open("secret.txt", os.O_RDONLY, dir_fd=number)):
        try:
            found.append(os.pread(way(), 64, 0).decode())
        except OSError:
            pass
result = found
