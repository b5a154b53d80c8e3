# id: INT-30-c
# title: writes to shared files through memory
# walls: full nested
# first: mount namespace
# second: landlock
# expect: ok
# control: bare
"""A file that is only read is mapped for shared writing: the change would be in the page cache, and
so in every process of the host that reads the file."""

import ctypes
import mmap
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
result = None
for path in (os.path.join(context["folder"], "run.sh"), os.__file__, sys.executable,
             "/etc/ld.so.cache", "/usr/share/zoneinfo/UTC", "/carboy/zygote.so"):
    for flags in (os.O_RDWR, os.O_RDONLY):
        try:
            fd = os.open(path, flags)
            mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE).close()
            result = context["flag"]
        except (OSError, ValueError):
            pass
        try:
            fd = os.open(path, flags)
            view = mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ)
            libc.mmap.restype = ctypes.c_void_p
            where = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0))
            if libc.mprotect(ctypes.c_void_p(where), ctypes.c_size_t(4096), 3) == 0:
                result = context["flag"]
            view.close()
        except (OSError, ValueError):
            pass
    if result:
        break
