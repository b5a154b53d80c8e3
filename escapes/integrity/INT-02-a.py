# id: INT-02-a
# title: leaves a module where a later run might look for it
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Plants modules that an interpreter imports by itself when it starts. If one lands on the path of
a later run, guest code runs there before anything is sealed."""

import os
import sys
import tempfile

for root in [context["folder"], *sys.path, tempfile.gettempdir(), "/tmp", os.getcwd()]:
    try:
        for name in ("sitecustomize", "usercustomize", "bj_planted"):
            with open(os.path.join(root, name + ".py"), "x") as file:
                file.write("import sys\nsys.bj_module = %r\n" % context["flag"])
        sys.path.insert(0, root)
        if root == context["folder"]:
            break
    except OSError:
        pass
# ---
import importlib
import sys

result = None
for name in ("bj_planted", "usercustomize", "sitecustomize"):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
if getattr(sys, "bj_module", None):
    result = sys.bj_module
