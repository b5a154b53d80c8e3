# id: AV-13-b
# title: ends its first thread and takes too much memory in another
# walls: full nested
# first: engine measure
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""The kernel shows the memory of a process under the number of its first thread. When that one has
ended, it shows none, though the other thread goes on to fill memory that it makes read-only."""

import ctypes
import os
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE, FAILED = 3 << 20, ctypes.c_void_p(-1).value


def fill():
    time.sleep(0.05)
    for _ in range(35):
        at = libc.mmap(None, SIZE, 3, 0x22, -1, 0)
        if at == FAILED:
            break
        ctypes.memset(at, 1, SIZE)
        libc.mprotect(at, SIZE, 1)
    time.sleep(context["hold"])
    body = b'{"done":{}}'
    os.write(4, len(body).to_bytes(4, "big") + body)
    time.sleep(10)


threading.Thread(target=fill).start()
libc.syscall(nr["exit"], 0)
