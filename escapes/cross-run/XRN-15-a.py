# id: XRN-15-a
# title: answers, and goes on writing answers while the next run is on its way
# walls: full nested
# first: kill by pidfd
# second: frames
# expect: ok
# control: none: the frames of an answer exist only in a jar
"""A late answer must not arrive in the outcome of another run."""

import os
import time


def frame(text):
    body = b'{"done":{"result":"%s"}}' % text.encode()
    return len(body).to_bytes(4, "big") + body


os.write(4, frame("first"))
for turn in range(100):
    time.sleep(0.1)
    os.write(4, frame(context["flag"]))
    os.write(1, context["flag"].encode())
# ---
import time

time.sleep(0.5)
result = "second"
