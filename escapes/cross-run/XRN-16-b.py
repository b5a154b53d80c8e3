# id: XRN-16-b
# title: leaves text in the buffers of the C library for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""A buffer that is copied by a fork is written twice, the second time by a stranger."""

import ctypes
import os

libc = ctypes.CDLL(None)
reader, writer = os.pipe()
stream = os.dup(1)
os.dup2(writer, 1)
libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, 0, 65536)
libc.printf(b"buffered-%d", context["number"] % 1000000)
os.dup2(stream, 1)
# ---
import ctypes
import os

libc = ctypes.CDLL(None)
reader, writer = os.pipe()
stream = os.dup(1)
os.dup2(writer, 1)
libc.fflush(None)
os.dup2(stream, 1)
os.set_blocking(reader, False)
try:
    if b"buffered-" in os.read(reader, 65536):
        result = context["flag"]
except OSError:
    pass
