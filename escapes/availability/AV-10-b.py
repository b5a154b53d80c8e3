# id: AV-10-b
# title: tries to get a child by every way there is
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: fork
# control: bare
"""No child is granted. Forking, spawning and the bare system calls are tried, with and without
the flags that make them look like something else."""

import ctypes
import os

libc = ctypes.PyDLL(None, use_errno=True)
nr = context["nr"]
SIGCHLD, PARENT, UNTRACED, IO = 17, 0x8000, 0x800000, 0x80000000


def clone(flags):
    return libc.syscall(nr["clone"], ctypes.c_ulong(flags), None, None, None, None)


for attempt in (
    os.fork,
    lambda: libc.syscall(nr["fork"]),
    lambda: clone(SIGCHLD),
    lambda: clone(SIGCHLD | UNTRACED),
    lambda: clone(SIGCHLD | IO),
    lambda: clone(0x400 | SIGCHLD),
    lambda: os.forkpty()[0],
):
    try:
        child = attempt()
    except OSError:
        continue
    if child == 0:
        os._exit(0)
    if child > 0:
        result = context["flag"]
