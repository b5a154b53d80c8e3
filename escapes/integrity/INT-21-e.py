# id: INT-21-e
# title: changes a mode with a call that is newer than most filters
# walls: full nested
# first: private root
# second: seccomp
# expect: ok
# control: bare
"""Kernels from 6.6 on have a second call for changing modes. A list of forbidden calls would not
have it; Landlock has no rule for it. It is answered as the older spelling is."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
path = os.fsencode(os.path.join(context["folder"], "target.txt"))
libc.syscall(nr["fchmodat2"], -100, path, 0o600, 0)
