# id: INT-25-b
# title: mounts control groups for itself
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: mount fsopen unshare
# control: bare
"""In namespaces of its own a process may mount. Tries to get them, and mounts with and without."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
result = None
for flags in (0x10000000 | 0x00020000, 0x10000000, 0x02000000, 0x00020000):
    if libc.syscall(nr["unshare"], flags) == 0:
        result = context["flag"]
        break
if result is None:
    for kind in (b"cgroup2", b"cgroup", b"proc", b"sysfs", b"tmpfs"):
        if libc.syscall(nr["fsopen"], kind, 0) >= 0:
            result = context["flag"]
        if libc.syscall(nr["mount"], b"none", os.fsencode(os.getcwd()), kind, 0, None) == 0:
            result = context["flag"]
