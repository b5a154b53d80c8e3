# id: INT-28-c
# title: opens ports, segments and personalities of the processor
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: personality modify_ldt iopl ioperm arch_prctl
# control: bare
"""Old doors of the architecture. The personality is first only asked."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
table = ctypes.create_string_buffer(64)
result = None
for number, *words in ((nr["personality"], ctypes.c_ulong(0xFFFFFFFF)),
                       (nr["modify_ldt"], 0, table, ctypes.c_ulong(64)),
                       (nr["arch_prctl"], 0x1003, table),
                       (nr["personality"], ctypes.c_ulong(0x0400000)), (nr["iopl"], 0),
                       (nr["iopl"], 3),
                       (nr["ioperm"], 0x80, 1, 0), (nr["ioperm"], 0x80, 1, 1),
                       (nr["modify_ldt"], 1, table, ctypes.c_ulong(16)),
                       (nr["personality"], ctypes.c_ulong(8)), (nr["arch_prctl"], 0x1012, 0)):
    if result is None and libc.syscall(number, *words) >= 0:
        result = context["flag"]
