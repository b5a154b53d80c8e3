# id: INT-17-b
# title: makes configuration of the engine outside its directory
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The first making of a directory that does not exist yet is often forgotten by rules that protect
what exists."""

import os

roots = [context["folder"], "/carboy", "/etc", "/root", "/home", "/var/lib", "/run", "/work",
         os.path.dirname(os.getcwd()), "/"]
result = None
for root in roots:
    for name in (".carboy", "carboy", ".config"):
        path = os.path.join(root, name)
        try:
            os.mkdir(path)
            os.rmdir(path)
            result = context["flag"]
        except OSError:
            pass
        try:
            os.close(os.open(path + ".toml", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink(path + ".toml")
            result = context["flag"]
        except OSError:
            pass
    if result:
        break
