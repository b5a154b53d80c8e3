# id: INT-09-c
# title: leaves links to endless devices and directories named like files
# walls: full nested
# first: engine measure
# second: private root
# expect: ok
# control: none: nobody collects anything on a bare host
"""The listing must neither read from a device nor wait for one, nor take a directory for a file."""

import os

for name, to in (("zero", "/dev/zero"), ("random", "/dev/random"), ("null", "/dev/null"),
                 ("tty", "/dev/tty"), ("mem", "/proc/self/mem"), ("out", "/proc/self/fd/1"),
                 ("kmsg", "/proc/kmsg"), ("self", "self"), ("ping", "pong"), ("pong", "ping"),
                 ("empty", "no such thing"), ("long", "x/" * 2000)):
    os.symlink(to, name)
os.mkdir("out.csv")
open("out.csv/out.csv", "w").write("x")
