# id: INT-23-a
# title: becomes another user
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups
# control: bare
"""Every call that sets an identity, for root, for nobody and for itself."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
same = ctypes.c_long(-1)
result = None
for who in (os.getuid(), 0, 65534, 1900000000, 1 << 32):
    one = ctypes.c_long(who)
    for number, words in ((nr["setuid"], [one]), (nr["setgid"], [one]),
                          (nr["setreuid"], [one, one]), (nr["setregid"], [one, one]),
                          (nr["setresuid"], [one, one, one]), (nr["setresgid"], [one, one, one]),
                          (nr["setgroups"],
                           [ctypes.c_long(1), (ctypes.c_int * 1)(who & 0x7FFFFFFF)])):
        if result is None and libc.syscall(number, *words) == 0:
            result = context["flag"]
    if result is None:
        for number in (nr["setfsuid"], nr["setfsgid"]):
            before = libc.syscall(number, one)
            if before >= 0 and libc.syscall(number, same) == who:
                result = context["flag"]
