# id: INT-35-e
# title: opens the other ends of its own pipes
# walls: full
# first: private root
# second: none
# expect: ok
# control: bare
"""Where processes are listed as files, a pipe can be opened anew for the other direction: the guest
would write into what it should read, and read what the engine should."""

import os

read, write = os.pipe()
result = None
for who in ("/proc/self/fd", "/proc/thread-self/fd", "/proc/1/fd", "/dev/fd"):
    for fd, flags in ((read, os.O_WRONLY), (write, os.O_RDONLY), (3, os.O_WRONLY),
                      (4, os.O_RDONLY), (1, os.O_RDONLY)):
        try:
            if result is None:
                os.close(os.open("%s/%d" % (who, fd), flags | os.O_NONBLOCK))
                result = context["flag"]
        except OSError:
            pass
