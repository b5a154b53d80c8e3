# id: CON-11-d
# title: opens the pipes of a neighbour through /proc
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# mode: together
# control: bare
"""Two jars of one engine have the same user on the host. The first waits with its pipes open, the
second looks for them under every process number near its own, and under the canary's."""

import time

time.sleep(1)
# ---
import os
import time

time.sleep(0.3)
own = os.getpid()
opened = []
for pid in [context["pid"], *range(max(1, own - 60), own + 60)]:
    if pid == own or (opened and pid != context["pid"]):
        continue
    for fd in range(6):
        for name in ("/proc/%d/fd/%d" % (pid, fd), "/proc/%d/task/%d/fd/%d" % (pid, pid, fd)):
            for flags in (os.O_RDONLY, os.O_WRONLY):
                try:
                    os.close(os.open(name, flags | os.O_NONBLOCK))
                    opened.append(name)
                except OSError:
                    pass
if opened:
    print(context["flag"], opened)
