# id: CON-46-f
# title: looks for other processes and for itself in /proc
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A jar finds one process in /proc, itself, and of that only generated words: no descriptor, no
memory, no place in the host's tree, and none of the processes that run beside it."""

import os

found = []
try:
    found += [name for name in os.listdir("/proc") if name.isdecimal() and name != "1"]
except OSError:
    pass
for pid in {"self", "1", str(os.getpid()), str(context["pid"])}:
    for name in ("fd", "fdinfo", "ns", "task", "map_files"):
        try:
            found += [f"{pid}/{name}/{entry}" for entry in os.listdir(f"/proc/{pid}/{name}")]
        except OSError:
            pass
    for name in ("environ", "auxv", "mem", "maps", "mountinfo", "stack", "syscall", "wchan"):
        try:
            if open(f"/proc/{pid}/{name}", "rb").read(1):
                found.append(f"{pid}/{name}")
        except OSError:
            pass
if found:
    result = [context["flag"], found]
