# id: INT-06-b
# title: puts dangling links where an engine might make its own files
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The same with links to a name that does not exist yet: whoever opens them with the right to make
files makes one in a directory of the host."""

import os
import tempfile

names = """script.py main.py job.py stdout stderr result.json context.json outcome.json artifacts
    artifacts.tar artifacts.zip .lock tmp cache core""".split()
done = False
for root in (context["folder"], os.getcwd(), tempfile.gettempdir()):
    for name in names:
        path = os.path.join(root, name)
        try:
            os.symlink(os.path.join(context["folder"], "made-" + name), path)
            open(path, "w").close()
            done = True
        except OSError:
            pass
    if done:
        break
result = "to the result"
# ---
result = "a second run"
