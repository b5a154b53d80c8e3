# id: INT-09-a
# title: makes pipes, sockets and devices with mknod
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: mknod mknodat
# control: bare
"""Whoever opens a named pipe to collect it waits for ever; a device leads into the kernel."""

import ctypes
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
kinds = [(stat.S_IFIFO, 0), (stat.S_IFSOCK, 0), (stat.S_IFCHR, os.makedev(1, 5)),
         (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(8, 0)), (stat.S_IFREG, 0)]
result = None
for kind, device in kinds:
    for root in (context["folder"], os.getcwd()):
        path = os.path.join(root, "special")
        name = os.fsencode(path)
        for way in (lambda: libc.syscall(nr["mknod"], name, kind | 0o666, device),
                    lambda: libc.syscall(nr["mknodat"], -100, name, kind | 0o666, device)):
            if result is None and way() == 0:
                os.unlink(path)
                result = context["flag"]
