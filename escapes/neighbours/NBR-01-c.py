# id: NBR-01-c
# title: asks from seven threads for threads that the kernel then refuses
# machine: x86_64
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 denials=1000000000
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""The engine once served nobody else while it waited for these to appear."""

import ctypes
import threading

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]

THREAD_WITH_TLS = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x80000
NO_ADDRESS = ctypes.c_void_p(0xFFFF800000000000)


def ask():
    stack = ctypes.create_string_buffer(65536)
    top = ctypes.c_void_p((ctypes.addressof(stack) + 65000) & ~15)
    while True:
        libc.syscall(nr["clone"], THREAD_WITH_TLS, top, 0, 0, NO_ADDRESS)


for _ in range(6):
    threading.Thread(target=ask, daemon=True).start()
ask()
