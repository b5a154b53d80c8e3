# id: CON-13
# title: has a running interpreter execute code of its choice
# walls: full nested
# first: seccomp
# second: pid namespace
# expect: ok
# denies: process_vm_readv process_vm_writev
# control: bare
"""Newer interpreters take a script from a debugger, which writes its name into their memory. Uses
the door if there is one, and does by hand what it does, on itself and on others."""

import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


target = ctypes.create_string_buffer(16)
word = ctypes.create_string_buffer(16)
runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
one, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)


def attack():
    for pid in (os.getpid(), context["pid"], os.getppid(), 1):
        try:
            sys.remote_exec(pid, os.__file__)
            return context["flag"]
        except (AttributeError, OSError, RuntimeError):
            pass
        for number, place in ((nr["process_vm_readv"], runtime),
                              (nr["process_vm_writev"], ctypes.addressof(target))):
            local, remote = Vector(ctypes.addressof(word), 16), Vector(place, 16)
            vectors = (ctypes.byref(local), one, ctypes.byref(remote), one)
            if libc.syscall(number, pid, *vectors, zero) > 0:
                return [context["flag"], number]
    return None


result = attack()
