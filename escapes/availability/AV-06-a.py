# id: AV-06-a
# title: stops itself with a signal that cannot be handled
# walls: full nested
# first: seccomp
# second: engine clock
# expect: ok
# denies: kill tgkill
# control: bare
"""A stopped process neither works nor ends, and it does not react to most signals. Where a child
can be had, it wakes this process up again, to show that it really stood still."""

import ctypes
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
own, helper = os.getpid(), None
try:
    helper = os.fork()
except OSError:
    pass
if helper == 0:
    for _ in range(20):
        time.sleep(0.1)
        os.kill(own, signal.SIGCONT)
    os._exit(0)
woken = []
signal.signal(signal.SIGCONT, lambda *_: woken.append(True))
for attempt in (
    lambda: os.kill(own, signal.SIGSTOP),
    lambda: libc.syscall(nr["tgkill"], own, own, signal.SIGSTOP),
    lambda: libc.syscall(nr["kill"], own, signal.SIGTSTP),
    lambda: signal.raise_signal(signal.SIGSTOP),
):
    try:
        attempt()
    except OSError:
        pass
time.sleep(0.05)
if woken:
    result = context["flag"]
if helper:
    os.kill(helper, signal.SIGKILL)
    os.waitpid(helper, 0)
