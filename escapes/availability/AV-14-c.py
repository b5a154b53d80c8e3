# id: AV-14-c
# title: copies a descriptor to a number far beyond its limit
# walls: full nested
# first: rlimits
# second: seccomp
# expect: ok
# control: bare
"""A high number makes the kernel enlarge the whole table below it."""

import fcntl
import os
import resource

for raise_it in (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)),):
    try:
        raise_it()
    except (OSError, ValueError):
        pass
for attempt in (
    lambda: os.dup2(1, 900),
    lambda: os.dup2(1, 900, inheritable=False),
    lambda: fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 900),
    lambda: fcntl.fcntl(1, fcntl.F_DUPFD, 900),
):
    try:
        if attempt() >= 900:
            result = context["flag"]
    except (OSError, ValueError):
        pass
