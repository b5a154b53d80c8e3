# id: INT-38-c
# title: renames directories and swaps files for links in threads while it is collected
# walls: full nested
# first: kill by pidfd
# second: landlock
# expect: ok
# repeat: 20
# control: none: nobody collects anything on a bare host
"""Many names change at once and at every depth, so that a walk by path would end somewhere else."""

import os
import threading

os.makedirs("a/b/c")
open("a/b/c/file", "w").write("x" * 100_000)
os.symlink(context["folder"], "out")
os.symlink(context["secret_file"], "secret.txt")


def swap(pairs):
    while True:
        for one, two in pairs:
            try:
                os.rename(one, two)
            except OSError:
                pass


for pairs in ([("a", "d"), ("d", "a")], [("a/b", "b"), ("b", "a/b"), ("b", "d/b")],
              [("out", "a/b/c/out"), ("a/b/c/out", "out")],
              [("secret.txt", "a/b/c/file"), ("a/b/c/file", "secret.txt")]):
    threading.Thread(target=swap, args=(pairs,), daemon=True).start()
