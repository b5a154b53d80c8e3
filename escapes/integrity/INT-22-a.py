# id: INT-22-a
# title: installs filters and listeners of its own
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: seccomp prctl
# control: bare
"""A later filter can answer in place of an earlier one's listener, and lie to the engine about what
was refused."""

import ctypes
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.prctl(38, 1, 0, 0, 0)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow))
result = None
for operation in (1, 1 | 1 << 32):
    for flags in (0, 1, 2, 4, 8, 8 | 16, 32, 1 << 32):
        words = ctypes.c_ulong(operation), ctypes.c_ulong(flags)
        if libc.syscall(nr["seccomp"], *words, program) >= 0:
            result = context["flag"]
            break
if result is None:
    libc.syscall(nr["seccomp"], 3, 0, ctypes.create_string_buffer(16))
    if libc.prctl(22, 2, program, 0, 0) == 0:
        result = context["flag"]
