# id: XRN-12-c
# title: changes the limits of the process it was forked from
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: prlimit64
# control: bare
"""Limits are inherited. Raising those of the parent would raise those of every later jar."""

import os
import resource

result = None
for pid in (context["pid"], os.getppid(), 1, 0):
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
        try:
            soft, hard = resource.prlimit(pid, kind)
            resource.prlimit(pid, kind, (soft, hard))
            result = context["flag"]
        except (OSError, ValueError):
            pass
    if result:
        # Where nothing hinders it, the victim is enough.
        break
