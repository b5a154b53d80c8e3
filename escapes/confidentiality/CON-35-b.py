# id: CON-35-b
# title: dies in the canary's directory with a secret in memory
# walls: full nested
# first: rlimits
# second: private root
# expect: crash
# control: none: whether a bare host writes core files, and where to, is the host's own setting
"""Goes to a directory that anyone may write to and faults, so that a core file would be left
there."""

import ctypes
import os

kept = context["flag"] * 1000
try:
    os.chdir(context["folder"])
except OSError:
    pass
ctypes.string_at(8)
