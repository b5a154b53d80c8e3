# id: INT-18-e
# title: signals processes of the host where child processes are allowed
# walls: full
# first: pid namespace
# second: landlock
# expect: ok
# limits: processes=4
# control: bare
"""Where a policy allows child processes the filter lets signals to them pass. They must reach nobody
else: not by number, not by group, not all at once, and not from a child."""

import os
import signal

victim = context["pid"]


def strike():
    for number in (victim, -victim):
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass
    # On a host this would end everything there is.
    if os.getpid() < 10:
        for number in (*range(2, 200), -1):
            try:
                if number != os.getpid():
                    os.kill(number, signal.SIGKILL)
            except OSError:
                pass


child = os.fork()
if child == 0:
    strike()
    os._exit(0)
os.waitpid(child, 0)
strike()
