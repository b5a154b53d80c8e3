# id: PRO-13-h
# title: fills its address space, empties it again and claims that its memory ran out
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
places = [libc.mmap(None, ctypes.c_size_t(size), 1, 2, fd, ctypes.c_long(0)) for _ in range(40)]
for place in places:
    libc.munmap(ctypes.c_void_p(place), ctypes.c_size_t(size))
raise MemoryError("not at all")
