# id: INT-37-c
# title: gives orders to a device that it opened neither for reading nor for writing
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: ioctl
# control: bare
"""A device opened in this mode can only be given orders, so no right to read or write is asked for. Before
version 5 Landlock has no rule for it."""

import array
import fcntl
import os

NEITHER = os.O_RDWR | os.O_WRONLY
COUNT = 0x80045200  # how much randomness there is
orders = [COUNT, 0x5206, 0x5412, 0x5414, 0x541D, 0x5423, 0x540E, 0x1260, 0x4B3A, 0x2285, 0xB704]
obeyed = []
for place in ("/dev/random", "/dev/urandom", "/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx"):
    for mode in (NEITHER, NEITHER | os.O_NONBLOCK | os.O_NOCTTY, os.O_RDONLY | os.O_NOCTTY):
        try:
            device = os.open(place, mode)
        except OSError:
            continue
        # Where it is obeyed nothing else is tried: the others change something.
        for order in orders if not obeyed else ():
            try:
                fcntl.ioctl(device, order, array.array("i", [0] * 64))
                obeyed.append([place, hex(order)])
                break
            except OSError:
                pass
        os.close(device)
if obeyed:
    result = [context["flag"], obeyed]
