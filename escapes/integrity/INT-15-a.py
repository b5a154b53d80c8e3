# id: INT-15-a
# title: leaves files named like modules of the standard library
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""If the directory of a run, or the temporary directory, were on the path of a later run or of the
engine's own Python, these would be imported in place of the real ones."""

import os
import sys
import tempfile

text = "import sys\nsys.bj_shadow = %r\nraise ImportError(sys.bj_shadow)\n" % context["flag"]
names = ["colorsys", "wave", "json", "dataclasses", "traceback", "io", "os", "numpy", "encodings"]
for root in [context["folder"], *sys.path, tempfile.gettempdir(), os.path.dirname(os.getcwd()),
             os.getcwd()]:
    for name in names:
        try:
            if name in ("numpy", "encodings"):
                os.mkdir(os.path.join(root, name))
                name += "/__init__"
            with open(os.path.join(root, name + ".py"), "x") as file:
                file.write(text)
        except OSError:
            pass
    if os.path.exists(os.path.join(context["folder"], "colorsys.py")):
        sys.path.insert(0, context["folder"])
        break
# ---
import importlib
import sys

for name in ("colorsys", "wave", "dataclasses", "json", "numpy"):
    if getattr(sys, "bj_shadow", None):
        break
    sys.modules.pop(name, None)
    try:
        importlib.import_module(name)
    except ImportError:
        pass
result = getattr(sys, "bj_shadow", None)
