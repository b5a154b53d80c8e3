# id: AV-24-b
# title: aborts
# walls: full nested
# first: fresh fork
# second: seccomp
# expect: crash
# control: none: a crash of its own needs no control
"""The C library's abort sends a signal, which is refused here, and then tries harder."""

import os

os.abort()
