# id: AV-08-i
# title: spreads its memory over several children
# walls: full
# first: engine measure
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864 processes=4
# control: raised memory_bytes=536870912
"""The kernel's limits hold for each process alone. Together the children have more than the run."""

import os
import time

for _ in range(3):
    if os.fork() == 0:
        block = bytearray(b"x" * (28 << 20))
        time.sleep(context["hold"] + 0.1)
        os._exit(0)
time.sleep(context["hold"])
result = "had it all"
