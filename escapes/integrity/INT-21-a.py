# id: INT-21-a
# title: enters the kernel by the door for 32-bit programs
# machine: x86_64
# walls: full nested
# first: seccomp
# second: none
# expect: denied
# expect session user: denied | crash
# control: bare
"""Through interrupt 0x80 the numbers of the calls mean something else: a filter that does not look
at the architecture lets a forbidden one pass as an allowed one."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
where = libc.mmap(0, 4096, 7, 0x22, -1, 0)
# push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
code = b"\x53\xb8\x14\0\0\0\xcd\x80\x5b\xc3"
ctypes.memmove(where, code, len(code))
if ctypes.CFUNCTYPE(ctypes.c_int)(where)() > 0:
    result = context["flag"]
