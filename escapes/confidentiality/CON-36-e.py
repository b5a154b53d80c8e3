# id: CON-36-e
# title: asks for the cache's share of a file with a call the profile does not name
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: unknown
# control: bare
"""A newer call answers the same question for whole files. The profile does not know it, and what it
does not know is refused and named."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
span = (ctypes.c_uint64 * 2)(0, 0)
answer = (ctypes.c_uint64 * 5)()
fd = os.open("own", os.O_RDWR | os.O_CREAT)
os.unlink("own")
if libc.syscall(451, fd, span, answer, 0) == 0:
    print(context["flag"], flush=True)
