# id: AV-09-a
# title: keeps memory in kernel objects that belong to no process
# walls: full nested
# first: seccomp
# second: ipc namespace
# expect: ok
# denies: memfd_create shmget msgget mq_open
# control: bare
"""Files in memory, shared segments and message queues hold memory that no process's limit counts,
and some of them outlive the process."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
KEY, MAKE, PRIVATE_KEY = b"carboy", 0o1600, 0
held = libc.syscall(nr["memfd_create"], KEY, 0)
if held >= 0:
    os.close(held)
    result = context["flag"]
for make, words, remove in (("shmget", (4096, MAKE), "shmctl"), ("msgget", (MAKE,), "msgctl")):
    number = libc.syscall(nr[make], PRIVATE_KEY, *words)
    if number >= 0:
        libc.syscall(nr[remove], number, 0, None)
        result = context["flag"]
queue = libc.syscall(nr["mq_open"], KEY, os.O_CREAT | os.O_RDWR, 0o600, None)
if queue >= 0:
    os.close(queue)
    libc.syscall(nr["mq_unlink"], KEY)
    result = context["flag"]
