# id: INT-27-a
# title: maps a file that it wrote as machine code
# walls: full
# first: mount namespace
# second: none
# expect: ok
# control: bare
"""The jar's directories are mounted so that nothing in them can be executed, mapped or not."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
result = None
files = [os.path.join(context["folder"], "run.sh"), "/jar/code.bin", "/tmp/code.bin"]
for path in files:
    try:
        if path != files[0]:
            open(path, "wb").write(b"\xc3" * 4096)
            os.chmod(path, 0o777)
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    for kind in (2, 1):
        if libc.mmap(0, 4096, 5, kind, fd, 0) != ctypes.c_void_p(-1).value:
            result = context["flag"]
        where = libc.mmap(0, 4096, 1, kind, fd, 0)
        if libc.mprotect(ctypes.c_void_p(where), ctypes.c_size_t(4096), 5) == 0:
            result = context["flag"]
    if result:
        break
