# id: CON-01-a
# title: reads a file of the host by its absolute path
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Opens the canary under its own path and under roots that a sandbox might have kept, with every
kind of opening at hand. One success would mean that the host's files lie open."""

import ctypes
import io
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.fopen.restype = ctypes.c_void_p


def with_c(path):
    stream = libc.fopen(path.encode(), b"r")
    text = ctypes.create_string_buffer(4096)
    return libc.fgets(text, 4096, ctypes.c_void_p(stream)) and text.value.decode() if stream else ""


def mapped(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    return mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)[:].decode()


def by_location(path):
    return os.read(os.open(path, os.O_RDWR), 4096).decode()


ways = [lambda path: open(path).read(), lambda path: io.open_code(path).read().decode(),
        with_c, mapped, by_location]
found = []
for root in ("", "/", "/host", "/old", "/oldroot", "/.old", "/mnt", "/carboy", "/rootfs"):
    for way in ways:
        try:
            found.append(way(root + context["secret_file"]))
        except (OSError, ValueError):
            pass
result = [text for text in found if text]
