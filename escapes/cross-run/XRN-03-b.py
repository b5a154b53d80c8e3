# id: XRN-03-b
# title: meets a neighbour at a port of the loopback device
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
# mode: together
"""Two jars with one network could talk over 127.0.0.1, by stream and by datagram."""

import socket
import time

port = 20000 + context["number"] % 10000
try:
    host = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host.bind(("127.0.0.1", port))
    host.settimeout(2)
    host.sendto(b"met", host.recvfrom(9)[1])
except OSError:
    time.sleep(1.2)
# ---
import socket
import time

door = 20000 + context["number"] % 10000
until = time.monotonic() + 1
while time.monotonic() < until:
    for family, there in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
        try:
            guest = socket.socket(family, socket.SOCK_DGRAM)
            guest.settimeout(0.3)
            guest.sendto(b"knock", (there, door))
            if guest.recv(9) == b"met":
                result = context["flag"]
        except OSError:
            pass
    time.sleep(0.1)
