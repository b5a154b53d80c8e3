# id: AV-13-a
# title: ends its first thread and lives on in another
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A process whose first thread has ended looks like a dead one to those who ask for it by number.
The other thread lives on, and at last answers in its place."""

import ctypes
import os
import threading
import time

libc = ctypes.CDLL(None)
nr = context["nr"]


def live_on():
    time.sleep(context["hold"])
    body = b'{"done":{}}'
    os.write(4, len(body).to_bytes(4, "big") + body)
    time.sleep(10)


threading.Thread(target=live_on).start()
libc.syscall(nr["exit"], 0)
