# id: XRN-02-b
# title: leaves a System V segment behind for the next run
# walls: full nested
# first: seccomp
# second: ipc namespace
# expect: ok
# denies: shmget
# control: bare
"""A segment stays until it is removed, and whoever knows its key can map it."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
key = context["number"] & 0x7FFFFFFF | 1
mark = b"segment-%d" % context["number"]
segment = libc.shmget(key, 4096, 0o1666)
if segment >= 0:
    ctypes.memmove(libc.shmat(segment, None, 0), mark, len(mark))
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
key = context["number"] & 0x7FFFFFFF | 1
mark = b"segment-%d" % context["number"]
segment = libc.shmget(key, 0, 0)
if segment >= 0:
    if ctypes.string_at(libc.shmat(segment, None, 0), len(mark)) == mark:
        result = context["flag"]
    libc.shmctl(segment, 0, None)
