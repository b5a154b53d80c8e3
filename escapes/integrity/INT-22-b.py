# id: INT-22-b
# title: changes its process attributes
# walls: full nested
# first: seccomp
# second: no new privileges
# expect: ok
# denies: prctl
# control: bare
"""Whether it dies with its parent, whether it may be read, where its heap lies, who may trace it,
who inherits its children, and how its calls are dispatched."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
tries = [(4, 1), (1, 0), (38, 0), (8, 1), (36, 1), (0x59616D61, -1), (35, 1), (28, 0), (24, 0),
         (47, 2), (26, 2), (59, 1), (41, 1), (31, 1), (53, 0), (33, 0), (66, 1), (68, 1), (65, 1),
         (62, 0), (14, 1), (29, 50000), (71, 1)]
result = None
for operation, value in tries:
    words = [ctypes.c_long(word) for word in (operation, value, 0, 0, 0)]
    if libc.syscall(nr["prctl"], *words) == 0:
        result = context["flag"]
        break
