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
call = libc.syscall
call.restype = ctypes.c_long
secret = os.fsencode(context["secret_file"])
folder = os.fsencode(context["folder"])
text = ctypes.create_string_buffer(4096)


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


piece = Piece(ctypes.addressof(text), 4096)
found = []
for number, rest in ((2, (secret, 0, 0)), (2, (secret, os.O_RDWR, 0)), (257, (-100, secret, 0, 0))):
    descriptor = call(number, *rest)
    if descriptor < 0:
        continue
    for way in (
        (295, (descriptor, ctypes.byref(piece), 1, 0, 0)),  # preadv
        (327, (descriptor, ctypes.byref(piece), 1, 0, 0, 0)),  # preadv2
    ):
        if call(way[0], *way[1]) > 0:
            found.append(text.value.decode())
descriptor = call(2, folder, os.O_DIRECTORY, 0)
if descriptor >= 0 and call(78, descriptor, text, 4096) > 0:  # getdents
    found.append(context["flag"])
if descriptor >= 0 and call(81, descriptor) == 0:  # fchdir
    found.append(open("secret.txt").read())
result = found
