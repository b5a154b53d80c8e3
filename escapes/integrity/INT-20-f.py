# id: INT-20-f
# title: passes an address that looks like none in its low half
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: sendto
# control: bare
"""The filter lets data be sent if no address is given. An address at 0x100000000 is zero in its low
32 bits."""

import ctypes
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
where = libc.mmap(1 << 32, 4096, 3, 0x32, -1, 0)
address = struct.pack("=H", socket.AF_INET) + struct.pack(">H", context["udp"])
address += b"\x7f\0\0\1" + b"\0" * 8
ctypes.memmove(where, address, 16)
try:
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
except OSError:
    end, other = socket.socketpair()
for low in (0, 1 << 32):
    libc.syscall(nr["sendto"], end.fileno(), b"x", ctypes.c_ulong(1), ctypes.c_ulong(low),
                 ctypes.c_void_p(where), ctypes.c_ulong(16))
size = ctypes.c_int(16)
if end.family == socket.AF_UNIX:
    other.send(b"x")
    libc.syscall(nr["recvfrom"], end.fileno(), ctypes.create_string_buffer(8), ctypes.c_ulong(1),
                 ctypes.c_ulong(0x40), ctypes.c_void_p(where), ctypes.byref(size))
