# id: PRO-22-b
# title: mixes output with a large answer while a timer interrupts every write
# walls: full nested
# first: frames
# second: none
# expect: ok
# limits: output_bytes=1000000
# control: none: an answer is only understood by the engine
"""Both pipes run full, every call is cut short, and still each byte belongs to its own stream."""

import os
import signal

signal.signal(signal.SIGALRM, lambda *given: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
body = b'{"done":{"result":"' + b"r" * 900_000 + b'"}}'
whole = memoryview(len(body).to_bytes(4, "big") + body)
while whole:
    whole = whole[os.write(4, whole[:65536]) :]
    if whole:
        os.write(1, b"o" * 65535 if len(whole) % 2 else b"o" * 9)
signal.setitimer(signal.ITIMER_REAL, 0)
os._exit(0)
