# id: XRN-05-b
# title: asks to be told when others open a file or change a directory
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: fcntl
# control: bare
"""Leases and directory notices report what other processes do with a shared file."""

import fcntl
import os
import signal

signal.signal(signal.SIGIO, signal.SIG_IGN)
files = [context["secret_file"], os.__file__, "mine"]
try:
    open("mine", "x").close() if os.getcwd() == "/jar" else None
except OSError:
    pass
for path in files:
    for held in (fcntl.F_RDLCK, fcntl.F_WRLCK):
        try:
            fd = os.open(path, os.O_RDONLY)
            fcntl.fcntl(fd, 1024, held)
            result = context["flag"]
            os.close(fd)
        except OSError:
            pass
for path in (os.path.dirname(os.__file__), "."):
    try:
        fd = os.open(path, os.O_RDONLY)
        fcntl.fcntl(fd, 1026, 0x1)
        result = context["flag"]
        os.close(fd)
    except OSError:
        pass
