# id: XRN-13-a
# title: leaves a child process running that holds everything it inherited
# walls: full
# first: pid namespace
# second: parent death signal
# expect: ok
# limits: processes=1
# control: bare
"""A child that outlives its run would meet the next one, or eat the machine for good."""

import os
import signal
import time

if os.fork() == 0:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(2)
    os._exit(0)
# ---
import os

try:
    if os.waitpid(-1, os.WNOHANG) == (0, 0):
        result = context["flag"]
        os.waitpid(-1, 0)
except OSError:
    pass
