# id: AV-06-b
# title: asks to be traced, so that each signal would stop it
# walls: full nested
# first: seccomp
# second: engine clock
# expect: ok
# denies: ptrace
# control: bare
"""A traced process stops at every signal and waits for its tracer, which would be the engine's
helper: that one knows nothing of it and would wait as well."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.ptrace.restype = ctypes.c_long
for ask in (lambda: libc.ptrace(0, 0, 0, 0), lambda: libc.syscall(nr["ptrace"], 0, 0, 0, 0)):
    if ask() == 0:
        result = context["flag"]
        break
