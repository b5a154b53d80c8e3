# id: XRN-12-e
# title: leaves a thread running when its answer is given
# walls: full nested
# first: fresh fork
# second: kill by pidfd
# expect: ok
# control: bare
"""A thread that went on in the process of the next run could watch and change everything."""

import threading
import time


def linger():
    while time.monotonic() < stop_at:
        time.sleep(0.05)


stop_at = time.monotonic() + 3
threading.Thread(target=linger, name=f"linger{context['number']}", daemon=True).start()
# ---
import sys
import threading

names = [thread.name for thread in threading.enumerate()]
frames = [frame.f_code.co_name for frame in sys._current_frames().values()]
if f"linger{context['number']}" in names or "linger" in frames:
    result = context["flag"]
