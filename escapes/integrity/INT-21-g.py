# id: INT-21-g
# title: calls the kernel with machine code of its own
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""No library stands between the guest and the kernel: the call is made from bytes that the guest
wrote itself."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
where = libc.mmap(0, 4096, 7, 0x22, -1, 0)
# mov eax, 41 (socket); mov edi, 2; mov esi, 1; xor edx, edx; syscall; ret
code = b"\xb8\x29\0\0\0\xbf\2\0\0\0\xbe\1\0\0\0\x31\xd2\x0f\x05\xc3"
ctypes.memmove(where, code, len(code))
result = None
if ctypes.CFUNCTYPE(ctypes.c_long)(where)() >= 0:
    result = context["flag"]
