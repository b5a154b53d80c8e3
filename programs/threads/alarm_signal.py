# title: a time limit of one's own by a signal
# expect: ok
# check: result == "timed out"
# agent: refuse
import signal

class TimedOut(Exception):
    pass

def handler(signum, frame):
    raise TimedOut()

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    while True:
        pass
except TimedOut:
    result = "timed out"
