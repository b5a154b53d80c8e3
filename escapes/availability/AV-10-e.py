# id: AV-10-e
# title: forks from child to child while the run is being ended
# walls: full
# first: pid namespace
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=40 processes=4000
# control: raised wall_ms=120000
# repeat: 100
"""Each process makes the next one and leaves, so that there is always one that is too young to be
known to whoever counts and kills. The namespace ends all of them at once."""

import os
import time

own = os.getpid()
end = time.monotonic() + context["hold"]
for _ in range(3):
    if os.fork() == 0:
        while time.monotonic() < end:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                time.sleep(0.005)
        os._exit(0)
while time.monotonic() < end:
    time.sleep(0.005)
time.sleep(0.02)
result = "hunted"
