# id: AV-04-a
# title: ignores and blocks every signal and catches every exception
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""If a run were ended with a signal that can be caught, or with an exception, this would live."""

import signal
import time

for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
end = time.monotonic() + context["hold"]
while time.monotonic() < end:
    try:
        while time.monotonic() < end:
            pass
    except BaseException:
        continue
result = "ignored everything"
