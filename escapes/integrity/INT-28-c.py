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
table = ctypes.create_string_buffer(64)
result = None
for number, *words in ((135, ctypes.c_ulong(0xFFFFFFFF)), (154, 0, table, ctypes.c_ulong(64)),
                       (158, 0x1003, table), (135, ctypes.c_ulong(0x0400000)), (172, 0), (172, 3),
                       (173, 0x80, 1, 0), (173, 0x80, 1, 1), (154, 1, table, ctypes.c_ulong(16)),
                       (135, ctypes.c_ulong(8)), (158, 0x1012, 0)):
    if result is None and libc.syscall(number, *words) >= 0:
        result = context["flag"]
