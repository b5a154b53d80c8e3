# id: CON-11-b
# title: asks the kernel whether another process exists
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: kill prlimit64
# control: bare
"""Harmless questions about a process number answer differently for one that is there and one that
is not. The canary's process is compared with a number that nobody has."""

import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)
limit = (ctypes.c_ulong * 2)()
mask = ctypes.create_string_buffer(1024)
pid, nobody = context["pid"], 2 ** 22 + 12345
questions = {
    "kill": lambda who: (62, who, 0),
    "tkill": lambda who: (200, who, 0),
    "prlimit64": lambda who: (302, who, 7, None, limit),
    "getpgid": lambda who: (121, who),
    "getsid": lambda who: (124, who),
    "getpriority": lambda who: (140, 0, who),
    "sched_getaffinity": lambda who: (204, who, 1024, mask),
    "sched_getscheduler": lambda who: (145, who),
    "waitid": lambda who: (247, 1, who, None, 1 | 4, None),
}


def ask(arguments):
    ctypes.set_errno(0)
    return libc.syscall(*arguments) >= 0 or errno.errorcode.get(ctypes.get_errno())


told = [name for name, about in questions.items() if ask(about(pid)) != ask(about(nobody))]
if told:
    result = [context["flag"], told]
