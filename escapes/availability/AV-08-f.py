# id: AV-08-f
# title: lets one block grow in place by remapping it
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""Only the making of a block is announced to the engine; growing it is another system call."""

import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
FAILED = ctypes.c_void_p(-1).value
size = 1 << 20
at = libc.mmap(None, size, 3, 0x22, -1, 0)
while size < 100 << 20:
    at = libc.mremap(at, size, size + (2 << 20), 1)
    if at == FAILED:
        rest = []  # until the kernel refuses: what was freed before may serve once more
        while True:
            rest.append(bytearray(2 << 20))
    size += 2 << 20
    ctypes.memset(at + size - (2 << 20), 1, 2 << 20)
time.sleep(context["hold"])
result = size
