# id: XRN-05-c
# title: watches with inotify what a neighbour opens
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
# mode: together
"""A watch on the standard library would tell which modules another run imports."""

import os
import time

for turn in range(12):
    open(os.__file__).close()
    time.sleep(0.1)
# ---
import ctypes
import os
import time

native = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
# inotify_init1 without blocking, inotify_add_watch for openings
watch = native.syscall(nr["inotify_init1"], 0o4000)
until = time.monotonic() + 1
if watch >= 0:
    native.syscall(nr["inotify_add_watch"], watch, os.path.dirname(os.__file__).encode(), 0x20)
    while time.monotonic() < until:
        try:
            if b"os.py" in os.read(watch, 65536):
                result = context["flag"]
        except BlockingIOError:
            time.sleep(0.1)
