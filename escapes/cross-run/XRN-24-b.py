# id: XRN-24-b
# title: asks for the affinity, priority and scheduling of other processes
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# control: bare
"""An answer other than no would tell that a process exists, and how it is treated."""

import os

for pid in (context["pid"], os.getppid(), 2, 3):
    if pid in (0, os.getpid()):
        continue
    for ask in (
        os.sched_getaffinity,
        os.sched_getscheduler,
        os.sched_getparam,
        os.getpgid,
        os.getsid,
        lambda pid: os.getpriority(os.PRIO_PROCESS, pid),
    ):
        try:
            ask(pid)
            result = context["flag"]
        except OSError:
            pass
