# id: AV-08-e
# title: fills memory and then makes it read-only
# walls: full nested
# first: engine measure
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""The kernel's limit of data counts writable memory only. What was written before the right was
taken away is not in its books any more, but it is in memory."""

import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE, FAILED = 3 << 20, ctypes.c_void_p(-1).value
for _ in range(35):
    at = libc.mmap(None, SIZE, 3, 0x22, -1, 0)
    if at == FAILED:
        raise MemoryError
    ctypes.memset(at, 1, SIZE)
    libc.mprotect(at, SIZE, 1)
time.sleep(context["hold"])
result = "had it all"
