# id: XRN-03-c
# title: meets a neighbour at a socket of the kernel's own family
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
# mode: together
"""Netlink has an address space of its own, which processes can use among themselves."""

import socket
import time

address = context["number"] & 0x3FFFFFFF | 1
try:
    host = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
    host.bind((address, 0))
    host.settimeout(2)
    heard, back = host.recvfrom(9)
    host.sendto(b"met", back)
except OSError:
    time.sleep(1.2)
# ---
import socket
import time

there = context["number"] & 0x3FFFFFFF | 1
until = time.monotonic() + 1
while time.monotonic() < until:
    try:
        guest = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
        guest.bind((0, 0))
        guest.settimeout(0.3)
        guest.sendto(b"knock", (there, 0))
        if guest.recv(9) == b"met":
            result = context["flag"]
    except OSError:
        pass
    time.sleep(0.1)
