# id: CON-18-d
# title: enters namespaces of other processes
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: setns
# control: bare
"""Enters whatever namespace a descriptor may stand for: those that procfs shows, those of the
processes it can open, and every descriptor that it holds."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
entered = []
# Where it is allowed, one that can be entered again.
libc.syscall(nr["unshare"], 0x10000000 | 0x04000000)
for who in ("self", "1", str(context["pid"])):
    for kind in ("user", "mnt", "net", "pid", "uts", "ipc", "cgroup"):
        try:
            fd = os.open("/proc/%s/ns/%s" % (who, kind), os.O_RDONLY)
        except OSError:
            continue
        if libc.syscall(nr["setns"], fd, 0) == 0:
            entered.append([who, kind])
for fd in range(16):
    for kinds in (0, 0x00020000, 0x40000000):
        if libc.syscall(nr["setns"], fd, kinds) == 0:
            entered.append([fd, kinds])
if entered:
    result = [context["flag"], entered]
