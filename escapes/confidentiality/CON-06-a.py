# id: CON-06-a
# title: makes a hard link to a file of the host
# walls: full nested
# first: seccomp
# second: private root
# expect: ok
# denies: link linkat
# control: bare
"""A hard link in a writable directory would be the host's file under a path that may be read and
written. The links are made by number, so that no library chooses another call."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
secret = context["secret_file"].encode()
beside = os.path.join(context["folder"], "taken").encode()
found = []
for target in (b"taken", beside):
    for number, arguments in ((nr["link"], (secret, target)),
                              (nr["linkat"], (-100, secret, -100, target, 0)),
                              (nr["linkat"], (-100, secret, -100, target, 0x400))):
        if libc.syscall(number, *arguments) == 0:
            found.append(open(target).read())
            os.unlink(target)
try:
    os.link(os.__file__, "library")
    found.append(context["flag"])
    os.unlink("library")
except OSError:
    pass
result = found
