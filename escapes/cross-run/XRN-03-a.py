# id: XRN-03-a
# title: meets a neighbour at an abstract socket
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
# mode: together
"""Abstract names need no file, so only the network namespace keeps them apart."""

import socket
import time

try:
    host = socket.socket(socket.AF_UNIX)
    host.bind(f"\0meet-{context['number']}")
    host.listen()
    host.settimeout(2)
    host.accept()[0].sendall(b"met")
except OSError:
    time.sleep(1.2)
# ---
import socket
import time

until = time.monotonic() + 1
while time.monotonic() < until:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            guest = socket.socket(socket.AF_UNIX, kind)
            guest.settimeout(1)
            guest.connect(f"\0meet-{context['number']}")
            if guest.recv(3) == b"met":
                result = context["flag"]
        except OSError:
            pass
    time.sleep(0.2)
