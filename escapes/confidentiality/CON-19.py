# id: CON-19
# title: opens files by their handle instead of their path
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: name_to_handle_at open_by_handle_at
# control: bare
"""A handle names a file by its number on the disk, past every root and every rule on paths. The
root of a disk usually has the number two."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
HEAD = 8


def handle_of(path, flags):
    handle = ctypes.create_string_buffer(HEAD + 128)
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
    mount = ctypes.c_int()
    done = libc.syscall(nr["name_to_handle_at"], -100, path, handle, ctypes.byref(mount), flags)
    return handle if done == 0 else None


done = []
guess = ctypes.create_string_buffer(HEAD + 8)
words = ctypes.cast(guess, ctypes.POINTER(ctypes.c_uint))
words[0], words[1], words[2], words[3] = 8, 1, 2, 0
start = os.open(".", os.O_RDONLY)
for path in (context["secret_file"].encode(), b".", b"/", b"/tmp", b"/dev/null"):
    for flags in (0, 0x400, 0x200):
        handle = handle_of(path, flags)
        if handle:
            done.append([context["flag"], path.decode()])
        fd = libc.syscall(nr["open_by_handle_at"], start, handle or guess, os.O_RDONLY)
        if fd >= 0:
            try:
                done.append(os.read(fd, 4096).decode())
            except OSError:
                done.append(context["flag"])
result = done
