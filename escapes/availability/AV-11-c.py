# id: AV-11-c
# title: answers while a child keeps standard output open
# walls: full
# first: pid namespace
# second: kill by pidfd
# expect: ok
# limits: processes=2 wall_ms=30000
# control: none: that the answer is not held up shows in the end itself
"""The answer is there, but the end of the output never comes: a child holds it open and would
write on for a minute."""

import os
import time

if os.fork() == 0:
    os.close(4)
    for _ in range(600):
        time.sleep(0.1)
        os.write(1, b".")
    os._exit(0)
result = "answered"
