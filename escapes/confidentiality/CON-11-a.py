# id: CON-11-a
# title: reads what /proc tells about other processes
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Environment, command line, memory, stack and descriptors of the engine, the zygote, a sibling and
the canary's process would all be worth reading."""

import os

pids = [context["pid"], os.getppid(), 1, *range(os.getpid() - 30, os.getpid())]
names = ("environ", "cmdline", "maps", "mem", "stack", "status", "comm", "syscall", "auxv", "wchan",
         "mountinfo", "cgroup", "limits", "stat", "io")
read = []
for pid in pids:
    for name in names:
        for path in ("/proc/%d/%s" % (pid, name), "/proc/%d/task/%d/%s" % (pid, pid, name)):
            try:
                with open(path, "rb") as file:
                    if file.read(64) and path not in context["generated"]:
                        read.append(path)
            except (OSError, OverflowError):
                pass
    try:
        read += os.listdir("/proc/%d/fd" % pid)
    except OSError:
        pass
if read:
    result = [context["flag"], read[:5]]
