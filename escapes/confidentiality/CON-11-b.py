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
nr = context["nr"]
limit = (ctypes.c_ulong * 2)()
mask = ctypes.create_string_buffer(1024)
pid, nobody = context["pid"], 2 ** 22 + 12345
questions = {
    "kill": lambda who: (nr["kill"], who, 0),
    "tkill": lambda who: (nr["tkill"], who, 0),
    "prlimit64": lambda who: (nr["prlimit64"], who, 7, None, limit),
    "getpgid": lambda who: (nr["getpgid"], who),
    "getsid": lambda who: (nr["getsid"], who),
    "getpriority": lambda who: (nr["getpriority"], 0, who),
    "sched_getaffinity": lambda who: (nr["sched_getaffinity"], who, 1024, mask),
    "sched_getscheduler": lambda who: (nr["sched_getscheduler"], who),
    "waitid": lambda who: (nr["waitid"], 1, who, None, 1 | 4, None),
}


def ask(arguments):
    ctypes.set_errno(0)
    return libc.syscall(*arguments) >= 0 or errno.errorcode.get(ctypes.get_errno())


told = [name for name, about in questions.items() if ask(about(pid)) != ask(about(nobody))]
if told:
    result = [context["flag"], told]
