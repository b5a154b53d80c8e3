# id: AV-09-b
# title: enlarges pipes, whose buffers are the kernel's memory
# walls: full nested
# first: seccomp
# second: rlimits
# expect: ok
# denies: fcntl
# control: bare
"""What lies in a pipe is charged to nobody's address space. One pipe holds 64 KiB; with a larger
buffer a few dozen would hold many megabytes."""

import fcntl
import os

F_SETPIPE_SZ = 1031
reader, writer = os.pipe()
for size in (1 << 20, 1 << 18, 1 << 17):
    try:
        if fcntl.fcntl(writer, F_SETPIPE_SZ, size) >= size:
            result = context["flag"]
    except OSError:
        pass
