# id: PRO-13-c
# title: lets timers end it in the name of the kernel
# walls: full nested
# first: engine measure
# second: pid namespace
# expect: crash | ok
# control: none: it would end the control itself
"""A signal of its own timer is no limit: it ends a run as a crash, or does nothing to it."""

import signal
import time

signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_REAL, 0.1)
time.sleep(0.5)
# ---
import signal
import time

signal.signal(signal.SIGPROF, signal.SIG_DFL)
signal.setitimer(signal.ITIMER_PROF, 0.1)
while time.process_time() < 0.4:
    pass
