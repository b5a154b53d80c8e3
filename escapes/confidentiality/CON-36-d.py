# id: CON-36-d
# title: asks which pages of a shared file are in memory
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: mincore
# control: bare
"""Which parts of a library are in memory tells what others have run. The library may be read and
mapped; the question must not be answered."""

import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
fd = os.open(os.__file__, os.O_RDONLY)
area = mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
pages = ctypes.create_string_buffer(b"\xff" * 64)
answered = libc.syscall(nr["mincore"], ctypes.c_void_p(start), ctypes.c_ulong(8192), pages)
if answered == 0:
    result = context["flag"]
