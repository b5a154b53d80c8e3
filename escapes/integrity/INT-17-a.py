# id: INT-17-a
# title: writes a policy for itself
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Plants configuration that grants network and children, in every place it can write, also under
names that do not exist yet. The next run looks whether it was believed."""

import os
import tempfile

policy = '[limits]\nprocesses = 8\n[network]\nallow = ["*"]\n'
names = ["carboy.toml", ".carboy/policy.toml", ".carboy/config.toml", "policy.toml",
         "policy.json", "policy.yaml", ".config/carboy/policy.toml", "profiles/process.toml",
         ".carboy.toml"]
try:
    open(context["secret_file"]).close()
    bare = True
except OSError:
    bare = False
if not bare:
    for root in (os.getcwd(), tempfile.gettempdir(), "/carboy", os.path.dirname(os.getcwd())):
        for name in names:
            path = os.path.join(root, name)
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "w").write("{}" if name.endswith("json") else policy)
            except OSError:
                pass
# ---
import os
import socket

result = None
try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    result = context["flag"]
except OSError:
    pass
