# id: XRN-17-c
# title: has many calls refused and many threads started so that the next run has fewer
# walls: full nested
# first: engine count
# second: none
# expect: ok
# denies: socket
# limits: denials=40 threads=4
# control: none: without walls there is no allowance that could be shared
"""What is counted is counted for one run."""

import socket
import threading
import time

for number in range(30):
    try:
        socket.socket()
    except OSError:
        pass
for number in range(3):
    threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
# ---
import socket
import threading
import time

for number in range(30):
    try:
        socket.socket()
    except OSError:
        pass
try:
    for number in range(3):
        threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start()
except RuntimeError:
    result = context["flag"]
