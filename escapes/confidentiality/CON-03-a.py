# id: CON-03-a
# title: follows a symbolic link of its own to a file of the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Makes links in the writable directories that lead to the canary by its absolute path, to its
directory and to the root, and reads through them."""

import os
import shutil
import tempfile

secret = context["secret_file"]
links = [(secret, ""), (context["folder"], "/secret.txt"), ("/", secret), ("/" + secret, "")]
found = []
for place in (".", tempfile.gettempdir()):
    for number, (target, rest) in enumerate(links):
        link = os.path.join(place, "link%d" % number)
        try:
            os.symlink(target, link)
        except OSError:
            continue
        try:
            found.append(open(link + rest).read())
        except OSError:
            pass
        try:
            shutil.copyfile(link + rest, "copy")
            found.append(open("copy").read())
        except OSError:
            pass
        os.unlink(link)
result = found
