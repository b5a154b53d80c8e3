# id: PRO-13-g
# title: has a child that dies with the signal of the processor limit
# walls: full
# first: pid namespace
# second: engine measure
# expect: ok
# limits: processes=1 cpu_ms=2000
# control: none: it would end the control itself
"""A child can choose what its parent is sent at its end, even the signal that cannot be caught."""

import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
own = os.getpid()
while time.process_time() < 1.53:
    pass
child = libc.syscall(nr["clone"], 9, None, None, None, None)
if os.getpid() != own:
    os._exit(0)
time.sleep(0.3)
result = "alive"
