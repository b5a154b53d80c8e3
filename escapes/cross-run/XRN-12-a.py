# id: XRN-12-a
# title: plants a module where the interpreter of the next run looks for it
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A file in the library or in its cache of compiled code would run in every later jar."""

import os
import site
import sys

name = f"planted{context['number']}"
places = [context["folder"], os.path.dirname(os.__file__)]
places += [os.path.join(os.path.dirname(os.__file__), "__pycache__")]
places += sys.path + site.getsitepackages() + [site.getusersitepackages()]
for place in places:
    for end in (".py", ".pth"):
        try:
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, name + end), "w") as file:
                file.write("mark = 1\n")
        except OSError:
            pass
    # Where there are no walls, the first place is enough.
    if os.path.exists(os.path.join(context["folder"], name + ".py")):
        break
# ---
import importlib
import sys

sys.path.append(context["folder"])
try:
    importlib.import_module(f"planted{context['number']}")
    result = context["flag"]
except ImportError:
    pass
