# id: XRN-05-d
# title: sees a neighbour's lock of an open file description
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: fcntl
# control: bare
# mode: together
"""These locks belong to an opening and not to a process; the profile grants only the older kind."""

import fcntl
import os
import struct
import time

held = open(os.__file__)
try:
    fcntl.fcntl(held, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 5, 1, 0))
except OSError:
    pass
time.sleep(1.5)
held.close()
# ---
import fcntl
import os
import struct
import time

until = time.monotonic() + 1.2
result = None
while time.monotonic() < until and result is None:
    with open(os.__file__) as asked:
        try:
            answer = fcntl.fcntl(asked, 36, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 5, 1, 0))
            if struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK:
                result = context["flag"]
        except OSError:
            pass
    time.sleep(0.1)
