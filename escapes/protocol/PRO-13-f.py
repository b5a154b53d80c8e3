# id: PRO-13-f
# title: fills its address space with a file and claims that its memory ran out
# walls: full nested
# first: engine measure
# second: none
# expect: exception
# control: none: the cause of an end is only judged by the engine
"""Mapped files are no memory of the run, however large they look."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
size = 8 << 20
fd = os.open("empty", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, size)
for turn in range(40):
    libc.mmap(None, ctypes.c_size_t(size), 1, 2, fd, ctypes.c_long(0))
raise MemoryError("not at all")
