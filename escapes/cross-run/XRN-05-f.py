# id: XRN-05-f
# title: writes a number into a record lock on a file that both can read
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
# mode: together
"""A read lock needs no right to write, and its offset is a number that anybody can ask for."""

import fcntl
import os
import struct
import time

holder = None
try:
    # Nobody sees locks of their own process: without walls, another one holds it.
    holder = os.fork()
except OSError:
    pass
if not holder:
    locked = os.open(os.__file__, os.O_RDONLY)
    lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0xC0FFEE, 1, 0)
    try:
        fcntl.fcntl(locked, fcntl.F_SETLK, lock)
    except OSError:
        pass
    time.sleep(1.5)
    if holder == 0:
        os._exit(0)
# ---
import fcntl
import os
import struct
import time

asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
watched = os.open(os.__file__, os.O_RDONLY)
end = time.monotonic() + 1.2
result = None
while time.monotonic() < end and result is None:
    kind, _, offset, _, _ = struct.unpack("hhqqi4x", fcntl.fcntl(watched, fcntl.F_GETLK, asked))
    if kind != fcntl.F_UNLCK and offset == 0xC0FFEE:
        result = context["flag"]
    time.sleep(0.05)
