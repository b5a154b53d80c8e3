# id: CON-27-a
# title: connects to a port of the host over TCP
# walls: full nested
# first: seccomp
# second: network namespace
# expect: ok
# denies: socket
# control: bare
"""Services that listen on the host's own address trust whoever is inside. Tries all names of it."""

import socket
import urllib.request

port = context["tcp"]
for host in ("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3", "2130706433", "0x7f000001", ""):
    try:
        with socket.create_connection((host, port), timeout=1) as sock:
            sock.sendall(b"hello")
    except (OSError, UnicodeError):
        pass
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
            sock.connect((host, port))
    except (OSError, UnicodeError):
        pass
try:
    urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=0.2)
except (OSError, ValueError):
    pass
