# id: XRN-07-b
# title: writes to every descriptor number while neighbours do the same
# walls: full nested
# first: descriptors
# second: fresh fork
# expect: ok
# control: none: a plain process has no engine whose pipes it could have inherited
# mode: together
# repeat: 100
"""If a fork kept a pipe of another jar, the flag would appear in that jar's output."""

import os
import time

until = time.monotonic() + 0.5
while time.monotonic() < until:
    for fd in range(5, 256):
        try:
            os.write(fd, context["flag"].encode())
        except OSError:
            pass
# ---
import os
import time

until = time.monotonic() + 0.5
while time.monotonic() < until:
    for fd in range(5, 256):
        try:
            os.write(fd, context["flag"].encode())
        except OSError:
            pass
# ---
import os
import time

until = time.monotonic() + 0.5
while time.monotonic() < until:
    for fd in range(5, 256):
        try:
            os.fstat(fd)
            result = context["flag"]
        except OSError:
            pass
# ---
import os
import time

until = time.monotonic() + 0.5
while time.monotonic() < until:
    for fd in range(5, 256):
        try:
            if os.read(fd, 4096):
                result = context["flag"]
        except OSError:
            pass
