# id: AV-11-a
# title: leaves a daemon behind
# walls: full
# first: pid namespace
# second: kill by pidfd
# expect: ok
# denies: setsid
# limits: processes=4 wall_ms=30000
# control: none: that nothing lives on is looked for from outside after the run
"""The usual way to become a daemon: fork, a session of its own, fork again, close everything,
ignore signals, and sleep for longer than the run takes."""

import os
import signal
import time

if os.fork() == 0:
    try:
        os.setsid()
    except OSError:
        pass
    if os.fork() == 0:
        for number in range(1, signal.NSIG):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        os.closerange(0, 64)
        time.sleep(60)
    os._exit(0)
try:
    os.setsid()
except OSError:
    pass
time.sleep(0.05)
result = "left a daemon"
