# id: AV-04-c
# title: calls itself back from a timer each millisecond to stay awake
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A stream of signals that the program sends to itself by a timer, each of which starts a handler
and restarts the sleep that it interrupted."""

import signal
import time

count = 0


def tick(number, frame):
    global count
    count += 1


signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
time.sleep(context["hold"])
signal.setitimer(signal.ITIMER_REAL, 0)
result = count
