# id: CON-12-b
# title: reads memory of processes by their number
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: process_vm_readv
# control: bare
"""Copies memory out of the canary's process, itself, the parent and the first process, at addresses
that hold something in most programs. Only a filter would refuse the second."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
buffer = ctypes.create_string_buffer(64)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def attack():
    local = Vector(ctypes.addressof(buffer), 64)
    one, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)
    for pid in (context["pid"], os.getpid(), os.getppid(), 1):
        for place in (0x400000, 0x555555554000, ctypes.addressof(buffer), id(None)):
            remote = Vector(place, 64)
            vectors = (ctypes.byref(local), one, ctypes.byref(remote), one)
            if libc.syscall(nr["process_vm_readv"], pid, *vectors, zero) > 0:
                return [context["flag"], pid]
    return None


result = attack()
