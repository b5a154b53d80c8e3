# id: CON-15-b
# title: makes device nodes and named pipes of its own
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: mknod mknodat
# control: bare
"""A node for kernel memory or for the host's disk in a writable directory would open them. The
harmless named pipe comes first, and ends the attempt where it can be made."""

import ctypes
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
kinds = [(stat.S_IFIFO, 0), (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(254, 0)),
         (stat.S_IFCHR, 0), (stat.S_IFSOCK, 0), (stat.S_IFREG, 0)]


def attack():
    try:
        os.mkfifo("node")
        os.unlink("node")
        return context["flag"]
    except OSError:
        pass
    for kind, device in kinds:
        for call, first in ((nr["mknod"], ()), (nr["mknodat"], (-100,))):
            if libc.syscall(call, *first, b"node", kind | 0o666, ctypes.c_ulong(device)) == 0:
                os.unlink("node")
                return context["flag"]
    return None


result = attack()
