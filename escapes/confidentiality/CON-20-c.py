# id: CON-20-c
# title: gives orders to devices with ioctl
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: ioctl
# control: bare
"""What a device does on ioctl is bound by no right to read or write. Asks those that a jar has, and
its pipes, for more than the harmless questions."""

import array
import fcntl
import os

orders = [0x80045200, 0x5206, 0x5207, 0x5452, 0x5460, 0x541d, 0x5412, 0x8901, 0x8904, 0x1260,
          0x1272, 0x8912, 0x80086601, 0x40086602, 0x6611, 0x40049409, 0xc0189436, 0xb701]
harmless = orders[0]  # how much randomness there is
obeyed = []
for place in ("/dev/urandom", "/dev/random", "/dev/null", "."):
    fd = os.open(place, os.O_RDONLY)
    for order in (orders if obeyed == [] else [harmless]):
        try:
            fcntl.ioctl(fd, order, array.array("i", [0] * 64))
            obeyed.append([place, hex(order)])
            break
        except OSError:
            pass
if obeyed:
    result = [context["flag"], obeyed]
