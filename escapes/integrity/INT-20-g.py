# id: INT-20-g
# title: changes a limit with a pointer that looks like none in its low half
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: prlimit64
# control: bare
"""The filter lets a limit be read if no new one is given. The new one lies at 0x100000000."""

import ctypes
import resource
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
where = libc.mmap(1 << 32, 4096, 3, 0x32, -1, 0)
result = None
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_DATA):
    limits = resource.getrlimit(kind)
    words = [word & 0xFFFFFFFFFFFFFFFF for word in limits]
    ctypes.memmove(where, struct.pack("QQ", *words), 16)
    for pid in (0, 1 << 32):
        if libc.syscall(nr["prlimit64"], ctypes.c_ulong(pid), kind, ctypes.c_void_p(where),
                        None) == 0:
            result = context["flag"]
