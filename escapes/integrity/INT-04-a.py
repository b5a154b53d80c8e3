# id: INT-04-a
# title: leaves symbolic links to a secret among its artifacts
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Whoever collects the files of a run and follows a link hands out a file of the host."""

import os

secret = context["secret_file"]
up = "../" * 12 + secret.lstrip("/")
result = []
for root in (context["folder"], os.getcwd(), os.environ.get("TMPDIR", "/tmp")):
    for name, to in (("out.csv", secret), ("up.csv", up), ("self.csv", "/proc/self/root" + secret)):
        path = os.path.join(root, name)
        try:
            os.symlink(to, path)
            result.append(open(path).read())
        except OSError as error:
            result.append(error.errno)
    if any(isinstance(got, str) for got in result):
        break
