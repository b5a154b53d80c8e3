# id: XRN-12-d
# title: opens the memory of the process it was forked from as a file
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A file of the kernel shows the memory of each process, and takes writes to it."""

import os

for pid in (context["pid"], os.getppid(), os.getppid() - 1, 1, "self"):
    for name in ("mem", "maps", "environ", "cmdline", "fd", "task"):
        path = f"/proc/{pid}/{name}"
        try:
            fd = os.open(path, os.O_RDONLY)
            # One was generated, of the jar itself, and takes no writes.
            if path.replace("self", "1") in context["generated"]:
                os.close(fd)
                fd = os.open(path, os.O_RDWR)
            result = context["flag"]
            os.close(fd)
        except OSError:
            pass
