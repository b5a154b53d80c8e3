# id: XRN-11-e
# title: writes into types and constants of the interpreter's memory
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""Below Python there is memory. The next run must have pages of its own, not these."""

import ctypes
import gc

# A new attribute on a type that Python itself does not let anybody change.
for inner in gc.get_referents(int.__dict__):
    if type(inner) is dict:
        inner["carboy_mark"] = context["number"]
ctypes.pythonapi.PyType_Modified(ctypes.py_object(int))
# Text of the interpreter that stands in pages without the right to write.
libc = ctypes.CDLL(None, use_errno=True)
ctypes.pythonapi.Py_GetCopyright.restype = ctypes.c_void_p
place = ctypes.pythonapi.Py_GetCopyright()
if libc.mprotect(ctypes.c_void_p(place & ~4095), ctypes.c_size_t(4096), 3) == 0:
    ctypes.memmove(place, b"Marked", 6)
libc.srand(4321)
# ---
import ctypes

ctypes.pythonapi.Py_GetCopyright.restype = ctypes.c_void_p
checks = [
    hasattr(7, "carboy_mark"),
    ctypes.string_at(ctypes.pythonapi.Py_GetCopyright(), 6) == b"Marked",
]
libc = ctypes.CDLL(None)
drawn = libc.rand()
libc.srand(4321)
checks.append(libc.rand() == drawn)
if any(checks):
    result = context["flag"]
