# id: INT-29
# title: keeps a secret in the kernel's key rings
# walls: full nested
# first: seccomp
# second: user namespace
# expect: ok
# denies: add_key request_key keyctl
# control: bare
"""Key rings belong to a user or a session, not to a directory: what one run leaves there, the next
one or the host might find."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
flag = context["flag"].encode()
for ring in (-2, -3, -4, -5, -1):
    if libc.syscall(nr["add_key"], b"user", b"carboy-drill", flag, ctypes.c_ulong(len(flag)),
                    ring) >= 0:
        break
libc.syscall(nr["request_key"], b"user", b"carboy-drill", None, -2)
libc.syscall(nr["keyctl"], 1, None)
libc.syscall(nr["keyctl"], 22, -1, -2)
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
result = None
for ring in (-2, -3, -4, -5, -1):
    key = libc.syscall(nr["keyctl"], 10, ring, b"user", b"carboy-drill", 0)
    if key >= 0:
        into = ctypes.create_string_buffer(200)
        if libc.syscall(nr["keyctl"], 11, key, into, ctypes.c_ulong(200)) >= 0:
            result = into.value.decode()
        break
if result is None and libc.syscall(nr["request_key"], b"user", b"carboy-drill", None, -2) >= 0:
    result = context["flag"]
if result is None:
    libc.syscall(nr["add_key"], b"user", b"carboy-drill-2", b"x", ctypes.c_ulong(1), -2)
