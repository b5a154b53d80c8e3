# id: INT-07-a
# title: leaves links for the removal of its directory to follow
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Removal, or a change of owner or mode, that follows a link would hit the folder of the host."""

import os
import tempfile

folder = context["folder"]
for root in (folder, os.getcwd(), tempfile.gettempdir()):
    try:
        os.symlink(folder, os.path.join(root, "a"))
        os.symlink(folder + "/", os.path.join(root, "b"))
        os.symlink(os.path.join(folder, "target.txt"), os.path.join(root, "c"))
        if root == folder:
            break
        os.makedirs(os.path.join(root, "d", "e"))
        os.symlink("../" * 14 + folder.lstrip("/"), os.path.join(root, "d", "e", "f"))
        os.symlink("..", os.path.join(root, "d", "e", "g"))
        os.rename(os.path.join(root, "d"), os.path.join(root, "h"))
        os.symlink(folder, os.path.join(root, "d"))
        os.chmod(os.path.join(root, "a"), 0o700)
    except OSError:
        pass
# ---
result = "a second run"
