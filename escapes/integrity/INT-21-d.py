# id: INT-21-d
# title: calls numbers that no kernel has yet
# walls: full nested
# first: seccomp
# second: none
# expect: denied
# expect session user: denied | crash
# expect aarch64: ok
# control: none: there is no such call yet
"""What a future kernel can do is not allowed because nobody knew it when the filter was written."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for number in [*range(500, 1000), 0x7FFFFFFF]:
    if libc.syscall(ctypes.c_long(number), 0, 0, 0) >= 0:
        result = context["flag"]
