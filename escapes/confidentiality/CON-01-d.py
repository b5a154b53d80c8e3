# id: CON-01-d
# title: reads a file of the host by every spelling of the calls
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Opening without a directory, creating as a way of opening, reading at an offset, and listing the
directory with the older calls."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
call = libc.syscall
call.restype = ctypes.c_long
secret = os.fsencode(context["secret_file"])
folder = os.fsencode(context["folder"])
text = ctypes.create_string_buffer(4096)


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


piece = Piece(ctypes.addressof(text), 4096)
found = []
for number, rest in ((nr["open"], (secret, 0, 0)), (nr["open"], (secret, os.O_RDWR, 0)),
                     (nr["openat"], (-100, secret, 0, 0))):
    descriptor = call(number, *rest)
    if descriptor < 0:
        continue
    for way in (
        (nr["preadv"], (descriptor, ctypes.byref(piece), 1, 0, 0)),
        (nr["preadv2"], (descriptor, ctypes.byref(piece), 1, 0, 0, 0)),
    ):
        if call(way[0], *way[1]) > 0:
            found.append(text.value.decode())
descriptor = call(nr["open"], folder, os.O_DIRECTORY, 0)
if descriptor >= 0 and call(nr["getdents"], descriptor, text, 4096) > 0:
    found.append(context["flag"])
if descriptor >= 0 and call(nr["fchdir"], descriptor) == 0:
    found.append(open("secret.txt").read())
result = found
