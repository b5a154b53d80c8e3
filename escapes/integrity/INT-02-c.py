# id: INT-02-c
# title: leaves a path file that runs code when an interpreter starts
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A line of a .pth file that begins with import is executed at every start of the interpreter."""

import os
import site
import sys
import sysconfig

roots = [context["folder"], sysconfig.get_paths()["purelib"], site.getusersitepackages()]
for root in roots + site.getsitepackages() + [os.getcwd(), "/tmp"]:
    try:
        if root != context["folder"]:
            os.makedirs(root, exist_ok=True)
        with open(os.path.join(root, "bj.pth"), "x") as file:
            file.write("import sys; sys.bj_path_file = %r\n" % context["flag"])
        if root == context["folder"]:
            break
    except OSError:
        pass
# ---
import site
import sys

for root in [context["folder"], site.getusersitepackages(), *site.getsitepackages(), "/tmp"]:
    try:
        site.addsitedir(root)
    except OSError:
        pass
result = getattr(sys, "bj_path_file", None)
