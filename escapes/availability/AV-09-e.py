# id: AV-09-e
# title: splits one mapping into as many as the kernel will keep
# walls: full nested
# first: rlimits
# second: engine clock
# expect: ok
# limits: memory_bytes=536870912
# control: none: the number of mappings is bounded by the kernel and by no limit of a policy
"""Each change of rights in the middle of a mapping makes two more of it, all of them kernel
memory. The kernel refuses at some number; then the run must still be able to answer and to end."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE, FAILED = 3 << 20, ctypes.c_void_p(-1).value
splits, chunks = 0, []
for _ in range(100):
    at = libc.mmap(None, SIZE, 3, 0x22, -1, 0)
    if at == FAILED:
        break
    chunks.append(at)
    if any(libc.mprotect(at + n, 4096, 1) for n in range(4096, SIZE, 8192)):
        break
    splits += SIZE // 8192
for at in chunks[-2:]:
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(SIZE))
result = splits
