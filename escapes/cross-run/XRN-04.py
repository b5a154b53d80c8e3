# id: XRN-04
# title: leaves a key in the keyring of its user for the next run
# walls: full nested
# first: seccomp
# second: user namespace
# expect: ok
# denies: add_key keyctl request_key
# control: bare
"""All jars have one user on the host, and keyrings belong to users."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
name = b"bj%d" % context["number"]
# The user's, its session's, and the one that outlives every session.
rings = [-4, -5, libc.syscall(nr["keyctl"], 22, -1, -2)]
for ring in rings:
    libc.syscall(nr["add_key"], b"user", name, b"kept", 4, ring)
libc.syscall(nr["request_key"], b"user", name, None, -4)
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
name = b"bj%d" % context["number"]
libc.syscall(nr["add_key"], b"user", b"probe" + name, b"x", 1, -2)
found = [libc.syscall(nr["request_key"], b"user", name, None, 0)]
found += [libc.syscall(nr["keyctl"], 10, ring, b"user", name, 0) for ring in (-4, -5, -3)]
for key in found:
    kept = ctypes.create_string_buffer(16)
    if key > 0 and libc.syscall(nr["keyctl"], 11, key, kept, 16) == 4 and kept.value == b"kept":
        result = context["flag"]
        # Invalidate it, so that nothing stays where there are no walls.
        libc.syscall(nr["keyctl"], 21, key)
