# id: XRN-25-b
# title: crashes in the middle of its writes, and the next run looks for the remains
# walls: full nested
# first: fresh fork
# second: mount namespace
# expect: crash | ok
# control: none: a crash would end the control itself
"""A crash leaves files unflushed, threads in locks and frames half written."""

import builtins
import ctypes
import os
import threading
import time

builtins.carboy_mark = 1
lock = threading.Lock()
lock.acquire()
threading.Thread(target=lock.acquire, daemon=True).start()
open(f"left-{context['number']}", "w").write("x" * 100_000)
os.write(4, b"\0\0")
time.sleep(0.1)
ctypes.string_at(0)
# ---
import builtins
import os
import threading

checks = [
    hasattr(builtins, "carboy_mark"),
    os.path.exists(f"left-{context['number']}"),
    threading.active_count() > 1,
    os.listdir(".") != [],
]
if any(checks):
    result = context["flag"]
