# id: INT-06-a
# title: puts links where an engine might write its own files
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""An engine that stages a script or stores an output in the jar's directory would write through the
link, with its own rights, into a file of the host."""

import os
import tempfile

target = os.path.join(context["folder"], "target.txt")
names = """script.py main.py job.py __main__.py code.py stdin stdout stderr stdout.txt stderr.txt
    input.json context.json result.json outcome.json output.json meta.json status exit_code log
    .lock .carboy policy.toml policy.json""".split()
roots = [context["folder"], os.getcwd(), tempfile.gettempdir(), os.path.dirname(os.getcwd())]
for root in roots:
    for name in names:
        path = os.path.join(root, name)
        try:
            os.symlink(target, path)
            if root == context["folder"]:
                open(path, "w").write("through the link")
        except OSError:
            pass
    if os.path.lexists(os.path.join(context["folder"], "main.py")):
        break
print("to standard output")
result = "to the result"
# ---
result = "a second run"
