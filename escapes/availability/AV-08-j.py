# id: AV-08-j
# title: keeps a large place free, and makes it memory piece by piece
# walls: full nested
# first: rlimits
# second: engine measure
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""A place without rights is no memory, and may be as large as an allocator likes. It becomes memory when it
is made writable, which no filter announces."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PRIVATE_ANONYMOUS, PIECE = 0x22, 1 << 20
place = libc.mmap(None, 1 << 30, 0, PRIVATE_ANONYMOUS, -1, 0)
for piece in range(place, place + 100 * PIECE, PIECE):
    if libc.mprotect(piece, PIECE, 3) != 0:
        rest = []  # until the kernel refuses: what was freed before may serve once more
        while True:
            rest.append(bytearray(PIECE))
    ctypes.memset(piece, 1, PIECE)
result = "a hundred megabytes"
