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
KEY, MAKE, PRIVATE_KEY = b"carboy", 0o1600, 0
held = libc.syscall(319, KEY, 0)
if held >= 0:
    os.close(held)
    result = context["flag"]
for make, remove in ((29, (31, 0)), (68, (71, 0))):
    if make == 29:
        number = libc.syscall(make, PRIVATE_KEY, 4096, MAKE)
    else:
        number = libc.syscall(make, PRIVATE_KEY, MAKE)
    if number >= 0:
        libc.syscall(remove[0], number, remove[1], None)
        result = context["flag"]
queue = libc.syscall(240, KEY, os.O_CREAT | os.O_RDWR, 0o600, None)
if queue >= 0:
    os.close(queue)
    libc.syscall(241, KEY)
    result = context["flag"]
