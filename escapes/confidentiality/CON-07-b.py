# id: CON-07-b
# title: reaches the host's root through other processes in /proc
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Every process on the host shows its root and its directory in procfs: the first one, the parent,
the neighbours, the canary's process."""

import os

down = context["secret_file"]
pids = [context["pid"], 1, os.getppid(), *range(os.getpid() - 20, os.getpid() + 20)]
found = []
for pid in pids:
    for link in ("root", "cwd" + "/.." * 64, "task/%d/root" % pid):
        try:
            found.append(open("/proc/%d/%s%s" % (pid, link, down)).read())
        except OSError:
            pass
        try:
            start = os.open("/proc/%d/%s" % (pid, link), os.O_PATH)
            there = os.open(down.lstrip("/"), os.O_RDONLY, dir_fd=start)
            found.append(os.read(there, 4096).decode())
        except OSError:
            pass
result = found
