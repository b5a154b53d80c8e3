# id: AV-03-d
# title: blocks in a read that a signal cannot be sent to
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""A read from an empty pipe whose writing end stays open. Every signal that could interrupt it is
blocked first; here a second thread frees it after a while."""

import os
import signal
import threading

reader, writer = os.pipe()
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
timer = threading.Timer(context["hold"], os.write, (writer, b"x"))
timer.start()
result = os.read(reader, 1).decode()
