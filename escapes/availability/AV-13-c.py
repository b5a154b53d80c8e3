# id: AV-13-c
# title: ends its first thread and starts more threads than it may have
# walls: full nested
# first: engine count
# second: kill by pidfd
# expect: ok
# denies: thread
# limits: threads=3 wall_ms=30000
# control: none: without the limit the threads are only many, and nothing shows from outside
"""The engine asks the kernel how many threads a process has, and asks for it by the number of the
thread that is gone."""

import _thread
import ctypes
import json
import os
import time

libc = ctypes.CDLL(None)
nr = context["nr"]
alive = []


def live():
    alive.append(True)
    time.sleep(60)


def multiply():
    time.sleep(0.05)
    for _ in range(12):
        try:
            _thread.start_new_thread(live, ())
        except RuntimeError:
            pass
    time.sleep(0.1)
    answer = context["flag"] if len(alive) > 3 else len(alive)
    body = json.dumps({"done": {"result": answer}}).encode()
    os.write(4, len(body).to_bytes(4, "big") + body)
    time.sleep(60)


_thread.start_new_thread(multiply, ())
libc.syscall(nr["exit"], 0)
