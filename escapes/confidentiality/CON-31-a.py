# id: CON-31-a
# title: sets up a ring through which the kernel works unfiltered
# walls: full nested
# first: seccomp
# second: private root
# expect: ok
# denies: io_uring_setup io_uring_enter io_uring_register
# control: bare
"""Work that is queued in a ring is done by the kernel without a system call for each step: files
opened and sockets made past the filter."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
done = []
for entries, flags in ((8, 0), (1, 0), (8, 1 << 6), (8, 1 << 1)):
    settings = (ctypes.c_uint32 * 30)(0, 0, flags)
    ring = libc.syscall(nr["io_uring_setup"], entries, settings)
    if ring >= 0:
        done.append(ring)
for fd in range(8):
    if libc.syscall(nr["io_uring_enter"], fd, 0, 0, 0, None, ctypes.c_ulong(0)) >= 0:
        done.append("enter")
    if libc.syscall(nr["io_uring_register"], fd, 8, settings, 1) >= 0:
        done.append("register")
if done:
    result = [context["flag"], done]
