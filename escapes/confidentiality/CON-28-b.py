# id: CON-28-b
# title: asks for the address of a name
# walls: full nested
# first: private root
# second: seccomp
# expect: ok
# control: bare
"""Questions to a name server carry data out, and its settings tell of the network. Neither the
library nor a reader of its files may learn anything but that `localhost` is this machine."""

import os
import socket

told = []
for name in ("localhost", socket.gethostname()):
    for way in (lambda: socket.getaddrinfo(name, 80), lambda: socket.gethostbyname(name),
                lambda: socket.gethostbyname_ex(name)):
        try:
            told += [text for text in [str(way())] if "127.0.0.1" not in text and "::1" not in text]
        except OSError:
            pass
for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf",
             "/etc/services", "/run/systemd/resolve/stub-resolv.conf"):
    try:
        text = os.read(os.open(path, os.O_RDONLY), 99).decode()
        told += [] if path in context["generated"] else [text]
    except OSError:
        pass
try:
    told += socket.if_nameindex()
except OSError:
    pass
if told:
    result = [context["flag"], told]
