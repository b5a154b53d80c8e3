# id: INT-23-c
# title: gives itself capabilities
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: capset
# control: bare
"""Sets its capabilities: first to none at all, which anybody may, then to all."""

import ctypes
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
result = None
for version, count in ((0x20080522, 2), (0x19980330, 1), (0x20071026, 2)):
    for word in (0, 0xFFFFFFFF, 1 << 21):
        header = ctypes.create_string_buffer(struct.pack("Ii", version, 0))
        data = ctypes.create_string_buffer(struct.pack("III", word, word, word) * count)
        if result is None and libc.syscall(nr["capset"], header, data) == 0:
            result = context["flag"]
if result is None:
    for number in range(41):
        if libc.prctl(47, 2, number, 0, 0) == 0:
            result = context["flag"]
