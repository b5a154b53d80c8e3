# id: XRN-11-b
# title: changes directory, environment, handlers and timers for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""What belongs to the process must end with it: a handler that stayed would run foreign code."""

import os
import signal
import sys
import tempfile

mark = f"mark-{context['number']}"
place = os.path.join(tempfile.gettempdir(), mark)
os.environ["CARBOY_MARK"] = mark
os.putenv("CARBOY_MARK", mark)
os.mkdir(place)
os.chdir(place)
signal.signal(signal.SIGUSR1, lambda *given: None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
signal.setitimer(signal.ITIMER_VIRTUAL, 3600)
sys.argv.append(mark)
# ---
import os
import signal
import sys
import tempfile

mark = f"mark-{context['number']}"
place = os.path.join(tempfile.gettempdir(), mark)
checks = [
    mark in os.environ.values(),
    mark in os.getcwd(),
    signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL,
    signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, set()),
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0] > 0,
    mark in sys.argv,
]
if any(checks):
    result = context["flag"]
os.chdir("/")
if os.path.exists(place):
    result = context["flag"]
    os.rmdir(place)
