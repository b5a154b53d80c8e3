# id: XRN-05-g
# title: wakes a neighbour that waits on a page of a file that both can read
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# control: bare
# mode: together
"""A futex that is not private lies in the page, and the page of a shared file is one for all."""

import ctypes
import os
import time

PROT_READ, MAP_SHARED, WAIT = 1, 1, 0
libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p


class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


with open(os.__file__) as file:
    page = libc.mmap(None, ctypes.c_size_t(4096), PROT_READ, MAP_SHARED, file.fileno(), 0)
word = page + 4 * 777
value = ctypes.c_uint32.from_address(word).value
until = time.monotonic() + 1.5
while time.monotonic() < until:
    left = Timespec(1, 0)
    libc.syscall(nr["futex"], ctypes.c_void_p(word), WAIT, value, ctypes.byref(left), 0, 0)
# ---
import ctypes
import os
import time

PROT_READ, MAP_SHARED, WAKE = 1, 1, 1
libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
libc.mmap.restype = ctypes.c_void_p
with open(os.__file__) as file:
    page = libc.mmap(None, ctypes.c_size_t(4096), PROT_READ, MAP_SHARED, file.fileno(), 0)
until = time.monotonic() + 1.2
result = None
while time.monotonic() < until and result is None:
    for index in range(1024):
        if libc.syscall(nr["futex"], ctypes.c_void_p(page + 4 * index), WAKE, 1, 0, 0, 0) > 0:
            result = context["flag"]
    time.sleep(0.05)
