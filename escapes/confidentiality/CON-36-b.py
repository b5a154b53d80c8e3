# id: CON-36-b
# title: makes memory that nobody counts or sees
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: memfd_create memfd_secret
# control: bare
"""Files without a path can be executed, sealed and shared, and hide memory even from the kernel."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
done = []
for number, arguments in ((nr["memfd_create"], (b"x", 0)), (nr["memfd_create"], (b"x", 1 | 2)),
                          (nr["memfd_create"], (b"x", 0x10)), (nr["memfd_secret"], (0,)),
                          (nr["memfd_secret"], (0x80000,))):
    fd = libc.syscall(number, *arguments)
    if fd >= 0:
        done.append(number)
        os.close(fd)
if done:
    result = [context["flag"], done]
