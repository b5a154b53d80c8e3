# id: XRN-16-a
# title: leaves standard input unread for the next run
# walls: full nested
# first: fresh fork
# second: descriptors
# expect: ok
# control: bare
"""What one run did not read must not be what another one reads."""

import os

reader, writer = os.pipe()
os.write(writer, b"unread-%d" % context["number"])
os.dup2(reader, 0)
# ---
import os

for fd in (0, 3):
    try:
        os.set_blocking(fd, False)
        if os.read(fd, 4096):
            result = context["flag"]
    except OSError:
        pass
