# id: INT-24-a
# title: raises its own limits
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: setrlimit prlimit64
# control: bare
"""Sets every limit of the kernel: to what it is, to its hard value, and to no limit at all."""

import ctypes
import resource
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
result = None
for kind in range(16):
    soft, hard = [word & 0xFFFFFFFFFFFFFFFF for word in resource.getrlimit(kind)]
    for pair in ((soft, hard), (hard, hard), ((1 << 64) - 1, (1 << 64) - 1)):
        new = struct.pack("QQ", *pair)
        for number, words in ((nr["setrlimit"], (kind, new)),
                              (nr["prlimit64"], (0, kind, new, None))):
            if result is None and libc.syscall(number, *words) == 0:
                result = context["flag"]
