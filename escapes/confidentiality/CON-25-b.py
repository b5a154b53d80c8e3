# id: CON-25-b
# title: asks the kernel for the name of the host and of its user
# walls: full
# first: uts namespace
# second: none
# expect: ok
# control: bare
"""The name of the host must be the same in every jar on every host, and set by nobody inside."""

import os
import platform
import socket

seen = {os.uname().nodename, platform.node(), socket.gethostname()}
seen |= {os.uname().nodename.split(".")[0]}
for way in (lambda: socket.sethostname("mine"), lambda: seen.add(os.getlogin())):
    try:
        way()
    except OSError:
        pass
seen |= {os.uname().nodename}
if seen != {"jar"}:
    result = [context["flag"], sorted(seen)]
