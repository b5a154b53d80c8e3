# id: CON-35-a
# title: allows itself a core file
# walls: full nested
# first: seccomp
# second: rlimits
# expect: ok
# denies: prlimit64 prctl setrlimit
# control: bare
"""A core file would put all memory onto a disk of the host, or into the hands of its collector.
Raises the limit and makes itself dumpable."""

import ctypes
import resource

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
CORE = resource.RLIMIT_CORE
soft, hard = resource.getrlimit(CORE)
done = []
for wanted in ((hard, hard), (4096, 4096), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)):
    try:
        resource.setrlimit(CORE, wanted)
        done.append(wanted)
    except (OSError, ValueError):
        pass
    limits = (ctypes.c_ulong * 2)(4096, 4096)
    for arguments in ((nr["prlimit64"], 0, CORE, limits, None), (nr["setrlimit"], CORE, limits)):
        if libc.syscall(*arguments) == 0:
            done.append(arguments[0])
if libc.syscall(nr["prctl"], 4, 1, 0, 0, 0) == 0:  # PR_SET_DUMPABLE
    done.append("dumpable")
if done or resource.getrlimit(CORE)[0] > 0:
    result = [context["flag"], str(done)]
