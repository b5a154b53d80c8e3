# id: PRO-13-b
# title: sends itself the signals of a timeout, a kill and a violation
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: kill tgkill
# control: none: it would end the control itself
"""A jar that could kill itself like the kernel does could claim any cause."""

import os
import signal
import threading

for number in (signal.SIGKILL, signal.SIGXCPU, signal.SIGSYS, signal.SIGTERM):
    for pid in (os.getpid(), 0, -1):
        try:
            os.kill(pid, number)
        except OSError:
            pass
    try:
        signal.pthread_kill(threading.get_ident(), number)
    except OSError:
        pass
result = "alive"
