# id: PRO-11
# title: answers with objects that run code when they are loaded
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: nobody may load it, so nothing could show that loading works
"""Whoever loaded any of these outside would make a file beside the secret."""

import base64
import os
import pickle


class Trap:
    def __reduce__(self):
        return (open, (os.path.join(context["folder"], "loaded"), "w"))


trap = pickle.dumps(Trap())
line = f"open({os.path.join(context['folder'], 'loaded')!r}, 'w')\n"
for name in ("data.pkl", "model.pt", "frame.pickle", "array.npy", "cache.joblib"):
    with open(name, "wb") as file:
        file.write(trap)
for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "setup.py", "run.pth"):
    with open(name, "w") as file:
        file.write(("import os; " if name.endswith("pth") else "") + line)
text = "!!python/object/apply:builtins.open " + repr([context["folder"] + "/loaded", "w"])
result = [base64.b64encode(trap).decode(), trap.decode("latin-1"), text, line]
