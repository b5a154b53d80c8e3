# id: XRN-15-a
# title: answers, and goes on writing answers while the next run is on its way
# walls: full nested
# first: kill by pidfd
# second: frames
# expect: ok
# control: none: the frames of an answer exist only in a jar
"""A late answer must not arrive in the outcome of another run. It comes when this run was ended long ago, on a
busy machine too: before that it would only spoil this run's own outcome."""

import os
import time


def frame(text):
    body = b'{"done":{"result":"%s"}}' % text.encode()
    return len(body).to_bytes(4, "big") + body


os.write(4, frame("first"))
time.sleep(2)
for turn in range(100):
    time.sleep(0.1)
    os.write(4, frame(context["flag"]))
    os.write(1, context["flag"].encode())
# ---
import time

time.sleep(3)
result = "second"
