# id: AV-15-i
# title: keeps its data in attributes of a file
# walls: full nested
# first: seccomp
# second: memory file system
# expect: ok
# denies: setxattr fsetxattr
# control: none: whether ordinary files take attributes depends on the host's file system
"""Attributes take kernel memory that is counted neither as content nor as a file."""

import os

with open("file", "w") as file:
    for number in range(50):
        for target in ("file", file.fileno()):
            try:
                os.setxattr(target, f"user.n{number}", bytes(4000))
                result = context["flag"]
            except OSError:
                pass
