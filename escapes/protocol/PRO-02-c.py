# id: PRO-02-c
# title: lets a thread write a second answer after the real one
# walls: full nested
# first: frames
# second: kill by pidfd
# expect: ok
# control: none: an answer is only understood by the engine
"""The run is over with its answer; what is said after it belongs to nobody."""

import os
import threading
import time


def second():
    body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
    for turn in range(50):
        time.sleep(0.2)
        os.write(4, len(body).to_bytes(4, "big") + body)


threading.Thread(target=second, daemon=True).start()
result = "real"
