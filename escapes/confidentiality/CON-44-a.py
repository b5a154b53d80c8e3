# id: CON-44-a
# title: looks around above the interpreter
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The interpreter and its packages may be read, and their paths are those of the host. What lies
beside and above them is not theirs: projects, caches, other versions, settings."""

import os
import sys

own = {os.path.realpath(place) for place in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
seen = []
for place in own:
    while place != "/":
        place = os.path.dirname(place)
        try:
            seen += [os.path.join(place, name) for name in os.listdir(place)]
        except OSError:
            pass
for home in ("~", "~root", "/root", "/home/user"):
    for name in (".cache", ".netrc", ".pypirc", ".ssh", ".config", ".gitconfig", ".bashrc",
                 ".cargo/config.toml", ".config/pip/pip.conf", ".python_history"):
        path = os.path.join(os.path.expanduser(home), name)
        try:
            os.close(os.open(path, os.O_RDONLY))
            seen.append(path)
        except OSError:
            pass
if seen:
    result = [context["flag"], len(seen)]
