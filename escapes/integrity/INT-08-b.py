# id: INT-08-b
# title: leaves directories that nobody may enter and names that are hard to handle
# walls: full nested
# first: mount namespace
# second: engine measure
# expect: ok
# control: none: such names do no harm by themselves; what counts is that nothing of them is left
"""Directories of mode 0, the longest names, line ends, control characters and odd bytes."""

import os

names = [b"n" * 255, b"a\nb", b"\xff\xfe", b"-rf", b"*", b"~", b"$(x)", b"`x`", b"a b", b" ",
         b"...", b"\x01\x02", b"\x7f", b"\x1b]0;x\x07", "\u202egpj.exe".encode(), "\u200b".encode()]
for name in names:
    os.mkdir(name)
    open(os.path.join(name, name), "wb").close()
    os.symlink(name, os.path.join(name, b"link"))
    os.chmod(os.path.join(name, name), 0)
    os.chmod(name, 0)
os.makedirs("a/b/c")
open("a/b/c/d", "w").close()
for path in ("a/b/c", "a/b", "a"):
    os.chmod(path, 0)
os.chmod(".", 0)
# ---
result = "a second run"
