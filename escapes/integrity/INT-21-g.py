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
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
where = libc.mmap(0, 4096, 3, 0x22, -1, 0)
code = {
    # mov eax, 41 (socket); mov edi, 2; mov esi, 1; xor edx, edx; syscall; ret
    "x86_64": b"\xb8\x29\0\0\0\xbf\2\0\0\0\xbe\1\0\0\0\x31\xd2\x0f\x05\xc3",
    # mov w8, 198 (socket); mov w0, 2; mov w1, 1; mov w2, 0; svc 0; ret
    "aarch64": bytes.fromhex("c8188052400080522100805202008052010000d4c0035fd6"),
}[os.uname().machine]
ctypes.memmove(where, code, len(code))
# The kernel shows the processor new instructions when memory becomes executable.
libc.mprotect(ctypes.c_void_p(where), ctypes.c_size_t(4096), 5)
result = None
if ctypes.CFUNCTYPE(ctypes.c_long)(where)() >= 0:
    result = context["flag"]
