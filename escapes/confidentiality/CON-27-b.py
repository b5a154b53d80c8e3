# id: CON-27-b
# title: connects to a port of the host over IPv6 and over multipath TCP
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Rules that know only the first protocol are passed with a mapped address, with an open that sends
data at once, and with a protocol that speaks TCP underneath."""

import socket

port = context["tcp"]
tries = []
for host in ("::ffff:127.0.0.1", "::1", "::", "::ffff:7f00:1"):
    tries += [(socket.AF_INET6, 0, (host, port)), (socket.AF_INET6, 262, (host, port))]
tries += [(socket.AF_INET, 262, ("127.0.0.1", port)), (socket.AF_INET, 6, ("127.0.0.1", port))]
for family, protocol, address in tries:
    for fast in (True, False):
        try:
            with socket.socket(family, socket.SOCK_STREAM, protocol) as sock:
                sock.settimeout(1)
                if fast:
                    sock.sendto(b"hello", 0x20000000, address)  # MSG_FASTOPEN
                else:
                    sock.connect(address)
        except OSError:
            pass
