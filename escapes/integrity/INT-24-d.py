# id: INT-24-d
# title: makes itself safe from the killer of processes
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Writes the score by which the kernel chooses whom to kill when memory runs out."""

import os

result = None
for who in ("self", "thread-self", "1", str(os.getpid()), str(os.getppid())):
    for name in ("oom_score_adj", "coredump_filter", "timerslack_ns", "autogroup", "comm"):
        path = "/proc/%s/%s" % (who, name)
        try:
            value = open(path).read().strip()
            result = context["flag"]
        except OSError:
            value = "-1000"
        if result is None:
            try:
                os.close(os.open(path, os.O_WRONLY))
                result = context["flag"]
            except OSError:
                pass
